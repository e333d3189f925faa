"""Which layers of a module make queries, keys and values, by their names."""

import pytest
from torch import nn

from tensorgrade.audit.mapping import mapping_of


class Layers(nn.Module):
    """A module with linear layers of these widths."""

    def __init__(self, **widths: tuple[int, int]):
        super().__init__()
        for name, width in widths.items():
            setattr(self, name, nn.Linear(*width, bias=False))


ONE_EACH = {"q_proj": (8, 8), "k_proj": (4, 8), "v_proj": (4, 8), "out_proj": (8, 8)}


def test_the_layer_before_keys_and_values_is_a_latent_one_and_no_extra():
    mapping = mapping_of(Layers(kv_down=(8, 4), **ONE_EACH))
    assert mapping.latent is not None and mapping.latent.name == "kv_down"
    assert mapping.extra == () and mapping.complete


@pytest.mark.parametrize("others", [{"strange": (8, 4)}, {"kv_down": (8, 5)}])
def test_a_layer_without_a_known_role_is_an_extra(others):
    mapping = mapping_of(Layers(**others, **ONE_EACH))
    assert mapping.latent is None
    assert mapping.extra == tuple(others) and not mapping.complete
