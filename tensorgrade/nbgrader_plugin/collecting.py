"""`nbgrader collect`, and then the scripts among what was collected poured into notebooks."""

from pathlib import Path

from nbgrader.exchange.default import ExchangeCollect

from .pouring import pour_all


class CollectScriptsToo(ExchangeCollect):
    """Collects from the exchange as nbgrader does; learners may hand in `.py` files as well."""

    def copy_files(self) -> None:
        """Copy, then pour."""
        super().copy_files()
        root = Path(self.coursedir.root)
        submitted = root / self.coursedir.submitted_directory
        release = root / self.coursedir.release_directory
        for notebook in pour_all(submitted, release, self.coursedir.assignment_id):
            self.log.info("Made %s from the script beside it", notebook)
