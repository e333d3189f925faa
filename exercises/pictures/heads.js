// Heads split and merged, step by step: 3 tokens, 8 numbers each, 2 heads. 23 is column 3 of token 2.
picture("heads", "Splitting rows into heads and merging them again, in six steps", (box) => {
  const wide = (t, c) => [t, c, 0];
  const cut = (t, c) => [t, c, c > 3 ? 12 : 0];
  const front = (t, c) => [t + (c > 3 ? 3.6 : 0), c % 4, 0];
  const straight = (t, c) => {
    const at = 8 * t + c;
    return [Math.floor(at / 4) + (at > 11 ? 0.6 : 0), at % 4, 0];
  };
  const steps = [
    ["(3, 8)", wide, "One wide row for each token."],
    ["(3, 2, 4)", cut, "Each row is cut into two heads of four numbers. Nothing has moved."],
    ["(2, 3, 4)", front, "The heads are in front: each has its own table, with a row for each token."],
    ["(3, 2, 4)", cut, "After attention, the way back: the tokens come first again."],
    ["(3, 8)", wide, "Merged: head 0 is the left half of each row, head 1 the right half."],
    ["(2, 3, 4)", straight, "A mistake: reshaped straight from (3, 8). The shape is right, but the "
      + "first table mixes both heads, and its rows are no longer tokens."],
  ];
  let now = 0;
  const cells = [];
  for (let t = 0; t < 3; t += 1) {
    for (let c = 0; c < 8; c += 1) {
      const cell = make("g", { class: "moving" },
        make("rect", { width: 40, height: 26, class: c > 3 ? "soft-b" : "soft-a" }),
        make("text", { x: 20, y: 18, "text-anchor": "middle" }, `${t + 1}${c + 1}`));
      cells.push([t, c, cell]);
    }
  }
  const back = make("button", { type: "button", onclick: () => go(-1) }, "Back");
  const next = make("button", { type: "button", onclick: () => go(1) }, "Next");
  const told = make("output");

  function go(by) {
    now = Math.min(steps.length - 1, Math.max(0, now + by));
    show();
  }

  function show() {
    const [shape, place, text] = steps[now];
    for (const [t, c, cell] of cells) {
      const [row, column, gap] = place(t, c);
      cell.style.transform = `translate(${4 + 41 * column + gap}px, ${4 + 27 * row}px)`;
    }
    // A button that is disabled would lose the keyboard's focus.
    back.setAttribute("aria-disabled", now === 0);
    next.setAttribute("aria-disabled", now === steps.length - 1);
    told.replaceChildren(make("b", {}, `Step ${now + 1} of ${steps.length}: ${shape}. `), text);
  }

  box.append(make("p", {}, back, " ", next),
    make("svg", { viewBox: "0 0 348 184", "aria-hidden": "true" }, ...cells.map((one) => one[2])),
    told);
  show();
});
