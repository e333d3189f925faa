"""Which layers of a module make queries, keys and values, by their names."""

import pytest
import torch

from tensorgrade.audit.code import Made
from tensorgrade.audit.mapping import mapping_of


def with_layers(**widths: tuple[int, int]) -> Made:
    """Return a module with linear layers of these widths."""
    state = {f"{name}.weight": torch.ones(wide, deep) for name, (deep, wide) in widths.items()}
    return Made("1", [*state], dict.fromkeys(widths, "Linear"), [], "", 0.0, True, state)


ONE_EACH = {"q_proj": (8, 8), "k_proj": (4, 8), "v_proj": (4, 8), "out_proj": (8, 8)}


def test_the_layer_before_keys_and_values_is_a_latent_one_and_no_extra():
    mapping = mapping_of(with_layers(kv_down=(8, 4), **ONE_EACH))
    assert mapping.by_role["latent"].name == "kv_down"
    assert mapping.extra == () and mapping.complete


@pytest.mark.parametrize("others", [{"strange": (8, 4)}, {"kv_down": (8, 5)}])
def test_a_layer_without_a_known_role_is_an_extra(others):
    mapping = mapping_of(with_layers(**others, **ONE_EACH))
    assert "latent" not in mapping.by_role
    assert mapping.extra == tuple(others) and not mapping.complete
