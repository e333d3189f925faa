"""Points as nbgrader wants them: a cell's result that reads as a number."""


class Points(float):
    """So many points out of so many: a float, with a sentence for people."""

    def __new__(cls, earned: float, most: float):
        made = super().__new__(cls, earned)
        made.most = most
        return made

    def _repr_html_(self) -> str:
        return f"<b>{self:g} of {self.most:g}</b> points by the visible checks"
