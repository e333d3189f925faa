// The causal mask: what each word sees, and what leaks into it without the mask.
picture("mask", "Attention weights with and without the causal mask", (box) => {
  const words = ["Your", "journey", "starts", "with", "one", "step"];
  const weights = [ // of chapter 2's layer with seed 789, without a mask
    [0.1921, 0.1646, 0.1652, 0.1550, 0.1721, 0.1510],
    [0.2041, 0.1659, 0.1662, 0.1496, 0.1665, 0.1477],
    [0.2036, 0.1659, 0.1662, 0.1498, 0.1664, 0.1480],
    [0.1869, 0.1667, 0.1668, 0.1571, 0.1661, 0.1564],
    [0.1830, 0.1669, 0.1670, 0.1588, 0.1658, 0.1585],
    [0.1935, 0.1663, 0.1666, 0.1542, 0.1666, 0.1529],
  ];
  let chosen = 0;
  const sum = (row) => row.reduce((a, b) => a + b, 0);
  const mask = make("input", { type: "checkbox", id: "masked", onchange: show });
  const told = make("output");
  const buttons = words.map((word, i) =>
    make("button", { type: "button", onclick: () => choose(i) }, word));
  const cells = weights.map((row, i) => row.map(() => make("td", { onclick: () => choose(i) })));

  function choose(row) {
    chosen = row;
    show();
  }

  function show() {
    cells.forEach((row, i) => row.forEach((cell, j) => {
      const future = j > i;
      const visible = mask.checked ? sum(weights[i].slice(0, i + 1)) : 1;
      const weight = mask.checked && future ? 0 : weights[i][j] / visible;
      cell.textContent = weight ? weight.toFixed(2) : "0";
      cell.className = mask.checked && future ? "hatched" : future && i === chosen ? "leak" : "";
      cell.style.setProperty("--share", `${Math.round(100 * weight)}%`);
    }));
    buttons.forEach((button, i) => button.setAttribute("aria-pressed", i === chosen));
    told.textContent = sentence();
  }

  function sentence() {
    const later = words.slice(chosen + 1);
    const word = `“${words[chosen]}”`;
    if (!later.length) return `${word} is the last word. It has no future, so the mask changes nothing.`;
    if (mask.checked) return `${word} sees ${chosen ? "itself and the past" : "only itself"}. Nothing leaks.`;
    const leaked = sum(weights[chosen].slice(chosen + 1)).toFixed(2);
    return `${word} takes ${leaked} of its output from ${later.join(", ")}, which it is supposed to predict.`;
  }

  box.append(
    make("p", {}, "Choose a word, then switch the mask on."),
    make("label", { for: "masked" }, mask, " causal mask"),
    make("table", { class: "grid" },
      make("caption", {}, "weights: a row for each query, a column for each key"),
      make("thead", {}, make("tr", {}, make("td"),
        ...words.map((word) => make("th", { scope: "col" }, word)))),
      make("tbody", {}, ...cells.map((row, i) =>
        make("tr", {}, make("th", { scope: "row" }, buttons[i]), ...row)))),
    told);
  show();
});
