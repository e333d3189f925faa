"""Puts HTML and JavaScript into printed text, names and exception messages."""

Script = type("<script>alert('TOKEN')</script>", (Exception,), {})


def attention_scores(query, inputs):
    print("<script>alert('TOKEN')</script>")
    raise Script("<img src=x onerror=alert('TOKEN')>")


def softmax(x, dim=-1):
    raise KeyError("[bold red]TOKEN[/] {{ TOKEN }} ${TOKEN}")


def context_vector(query, inputs):
    raise ValueError("<script>alert('TOKEN')</script>")  # messages quote this line
