"""The check cells of a notebook. Their public interface is `tensorgrade.notebook`."""
