// The parts of an error, from the text that the kernel writes: `error.txt` is what the test of widgets/view expects of
// it.

import assert from "node:assert/strict";
import test from "node:test";
import { read, replacement, type Snippet } from "../ts/error/parse_traceback.ts";
import text from "./error.txt";

const rows = (snippet: Snippet | undefined) =>
    snippet?.rows.map(row => {
        if (row.kind === "code") {
            const marks = row.marks.map(one => `${one.primary ? "^" : "-"}${row.text.slice(one.start, one.end)}`);
            return `${row.number} ${row.text} ${marks.join(" ")}`;
        }
        return row.kind === "gap" ? "gap" : row.words.map(one => one.text).join("");
    });

test("everything that the kernel says is found again", () => {
    const [first, second, ...more] = read({ traceback: text.split("\n") }) ?? [];
    assert.deepEqual(more, []);
    assert.ok(first && second);
    assert.deepEqual(
        [first.isError, first.code, first.message],
        [true, "unknown-column", "there is no column `dep_dely`"],
    );
    assert.deepEqual(
        first.snippets.map(one => one.place),
        [{ title: "In [3]", cell: 3, line: 2, column: 23 }],
    );
    // The first character is two cells wide.
    assert.deepEqual(rows(first.snippets[0]), [
        "1 let f = 1; -f",
        "      made here",
        "2 数.filter(x!(ab > 1 && dep_dely > 5)) -数. ^dep_dely",
        `${" ".repeat(32)}<b>not</b> in this frame`,
    ]);
    assert.deepEqual(first.items, [
        { name: "note", text: "the frame has 19 columns\nand 336 776 rows" },
        { name: "help", text: "did you mean `dep_delay`?" },
    ]);
    assert.deepEqual(
        first.trace.map(call => [call.place.cell, call.place.line, call.text]),
        [
            [3, 2, "in `late`"],
            [3, 12, ""],
        ],
    );
    assert.deepEqual([second.isError, second.code, second.message], [false, "E0382", "two\nlines & more"]);
    assert.deepEqual(second.items, [{ name: "help", text: "write:\n    v.clone();\n     ++++++++" }]);
});

test("lines that the kernel had no more room for are put together", () => {
    const traceback = [
        "\x1b[1;31merror[plot]\x1b[0m\x1b[1m: a long\x1b[0m",
        "\x1b[0m  \x1b[1mmessage\x1b[0m",
        "\x1b[1mhelp\x1b[0m: write",
        "\x1b[0m        less",
        "      or more",
    ];
    const [one] = read({ traceback }) ?? [];
    assert.equal(one?.message, "a long message");
    assert.deepEqual(one?.items, [{ name: "help", text: "write less\nor more" }]);
});

test("errors of others are left to the page", () => {
    const python = ["\x1b[31m---------\x1b[39m", "\x1b[31mNameError\x1b[39m  Traceback (most recent call last)"];
    for (const traceback of [python, [], ["error: x"], ["\x1b[1;31mEasy\x1b[0m"], [1], "error", null])
        assert.equal(read({ ename: "NameError", evalue: "", traceback }), null);
    assert.equal(read(null), null);
});

test("a file can say anything", () => {
    const head = "\x1b[1;31merror[panic]\x1b[0m\x1b[1m: <img src=x onerror=alert(1)>\x1b[0m";
    const lines = [
        head,
        " \x1b[1;34m-->\x1b[0m nowhere",
        "\x1b[1;34m7 |\x1b[0m x",
        "  \x1b[1;34m|\x1b[0m  \x1b[1;31m^^^^\x1b[0m",
        "\x1b[2J",
    ];
    const [one] = read({ traceback: lines }) ?? [];
    assert.equal(one?.message.split("\n")[0], "<img src=x onerror=alert(1)>");
    assert.deepEqual(one?.snippets, []);
});

test("what can be copied is what the help says to write", () => {
    assert.equal(replacement("did you mean `dep_delay`?"), "dep_delay");
    assert.equal(replacement("add `use std::fs;`"), "use std::fs;");
    assert.equal(replacement("add `use a::X` or `use b::X`"), null);
    assert.equal(replacement("`.get(i)` gives an `Option` instead of a panic"), null);
    assert.equal(replacement("consider cloning:\n    let w = v.clone();\n             ++++++++"), "let w = v.clone();");
});
