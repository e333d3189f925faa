"""What chapter 6 is tried on: two small models, an optimiser, a source of chance, and how it is used."""

import torch
from torch import nn


class NextToken(nn.Module):
    """ids (b, n) → logits (b, n, vocab_size), by the token and by how many there are.

    At most context_length ids, like the models of the chapter.
    """

    def __init__(self, vocab_size, context_length):
        super().__init__()
        self.context_length, self.vocab_size = context_length, vocab_size
        self.table = nn.Parameter(torch.zeros(vocab_size, vocab_size))

    def forward(self, ids):
        """Look up a row for each token."""
        if ids.shape[1] > self.context_length:
            raise ValueError(f"{ids.shape[1]} ids are more than the {self.context_length} it takes")
        return self.table[(ids + ids.shape[1]) % self.vocab_size]


class Steeper(nn.Module):
    """Twenty times as steep in training: its mode shows."""

    def forward(self, logits):
        """Multiply them, in training."""
        return logits * (20.0 if self.training else 1.0)


class InTraining(NextToken):
    """The same with a second parameter, and with a part that is another one in training."""

    def __init__(self, vocab_size, context_length):
        super().__init__(vocab_size, context_length)
        self.bias = nn.Parameter(torch.zeros(vocab_size))
        self.steeper = Steeper()

    def forward(self, ids):
        """Look up a row for each token."""
        return self.steeper(super().forward(ids) + self.bias)


class Descent:
    """Gradient descent with momentum, like torch.optim.SGD: it remembers earlier steps.

    An optimiser of torch first imports torch's compiler, and every check would take a second more.
    """

    def __init__(self, model, lr, momentum=0.9):
        params = list(model.parameters())
        self.param_groups = [{"params": params, "lr": lr, "momentum": momentum}]
        self.state = {}

    def zero_grad(self, set_to_none=True):
        """Clear the gradients."""
        for parameter in self.param_groups[0]["params"]:
            if set_to_none:
                parameter.grad = None
            elif parameter.grad is not None:
                parameter.grad.zero_()

    @torch.no_grad()
    def step(self, closure=None):
        """Change the parameters that have a gradient."""
        group = self.param_groups[0]
        for parameter in group["params"]:
            if parameter.grad is not None:
                before = self.state.get(parameter, torch.zeros_like(parameter))
                self.state[parameter] = group["momentum"] * before + parameter.grad
                parameter -= group["lr"] * self.state[parameter]


def with_gradients_left(model):
    """A model at which something has left gradients: ones."""
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    return model


def without_gradients(module):
    """A module as it is used after training: no gradients are kept."""

    def used(*inputs):
        with torch.no_grad():
            return module(*inputs)

    return used


def chance(number, beside=None):
    """A generator with a seed, for tensors on the CPU or on the device of the tensor `beside`."""
    device = "cpu" if beside is None else beside.device
    return torch.Generator(device).manual_seed(number)
