# SPDX-License-Identifier: ISC
"""Pages of the public headers, one a header, in the order of the header: of its declarations, which
Doxygen reads, and of the prose between them. Several declarations without a blank line or comment
between them share the comment above the first."""

import re
import xml.etree.ElementTree as xml
from dataclasses import dataclass, field

# The headers in the order in which they are best read; others follow.
ORDER = (
    "context tensor ops number index linalg fft function io dlpack debug error status dtype ir "
    "version"
).split()
COMMENT = re.compile(r"^/\*(?P<text>.*?)\*/[ ]*$", re.MULTILINE | re.DOTALL)
NAME = re.compile(r"`[^`\n]+`|\b(?:nx_[a-z0-9_]+|NX_[A-Z0-9_]+)\b")


class Fault(Exception):
    pass


@dataclass
class Item:
    """A declaration, or prose."""

    line: int
    kind: str
    name: str = ""
    signatures: list = field(default_factory=list)
    text: str = ""
    members: list = field(default_factory=list)


# ---- the header's own text


def clean(comment):
    lines = [re.sub(r"^ \* ?", "", line) for line in comment.strip("*").split("\n")]
    return "\n".join(lines).strip()


def free_comments(text):
    """Comments in the first column that belong to no declaration: (line, text)."""
    for match in COMMENT.finditer(text):
        after = text[match.end() + 1 :].split("\n", 1)[0]
        if (
            not after.strip()
            or match["text"].startswith(" ----")
            or text.count("\n", 0, match.start()) == 1
        ):
            yield text.count("\n", 0, match.start()) + 1, clean(match["text"])


def head(text):
    """The paragraph under the line of the licence."""
    return next(prose for line, prose in free_comments(text) if line == 2)


def check_comments(header, text):
    """Comments of declarations, and no others, are in the form that Doxygen reads: /** before, /**<
    behind."""
    free = {line for line, _ in free_comments(text)}
    for number, line in enumerate(text.split("\n")[1:], 2):
        plain_one = re.match(r" +/\* |[^#/ ].*\S +/\* | +\S.* /\* ", line) or (
            line.startswith("/* ") and number not in free
        )
        if plain_one or (line.startswith("/**") and number in free):
            raise Fault(
                f"{header}:{number}: a comment of a declaration begins with /** (behind it /**<), "
                f"prose with /*"
            )


# ---- plain text of a comment as reStructuredText


def escaped(text):
    return re.sub(r"([*`|\\])", r"\\\1", text).replace("_ ", r"\_ ")


def linked(text, names):
    """Names of the interface become links, words between backticks code."""
    out, at = [], 0
    for match in NAME.finditer(text):
        word = match.group()
        role = names.get(word)
        out.append(escaped(text[at : match.start()]))
        out.append(f"\\ :c:{role}:`{word}`\\ " if role else f"\\ ``{word.strip('`')}``\\ ")
        at = match.end()
    return re.sub(
        r"^(\w\. )", r"\\\1", "".join(out) + escaped(text[at:])
    )  # "F. " would begin a list


def prose(text, names):
    """Paragraphs; lines that are indented are code."""
    for block in re.split(r"\n\s*\n", text):
        if block.startswith("  "):
            yield from ["::", "", *("   " + line for line in block.split("\n")), ""]
        elif block:
            yield from [linked(" ".join(block.split()), names), ""]


# ---- what Doxygen read


def described(node):
    """The text of a description, a blank line between paragraphs."""
    parts = []
    for where in "briefdescription", "detaileddescription", "inbodydescription":
        element = node.find(where)
        for para in element.iter("para") if element is not None else ():
            for dash in para.iter("ndash"):
                dash.text = "--"
            parts.append(" ".join("".join(para.itertext()).split()))
    return "\n\n".join(part for part in parts if part)


def plain(node, path):
    element = node.find(path)
    return "".join(element.itertext()) if element is not None else ""


def line_of(node):
    return int(node.find("location").get("line"))


def member(node):
    kind = plain(node, "type")
    signature = (
        f"{kind}{'' if kind.endswith('*') else ' '}{plain(node, 'name')}{plain(node, 'argsstring')}"
    )
    return Item(line_of(node), "member", plain(node, "name"), [signature], described(node))


def struct(root, text):
    compound = root.find("compounddef")
    name = compound.find("compoundname").text
    item = Item(line_of(compound), compound.get("kind"), name, [name], described(compound))
    item.members = [member(node) for node in compound.iter("memberdef")]
    if any(
        "@" in inner.signatures[0] for inner in item.members
    ):  # a union without a name: shown as it stands in the header
        item.members, source = [], text.split("\n")[item.line - 1 :]
        last = next(number for number, line in enumerate(source) if line.startswith("}"))
        item.text += "\n\n" + "\n".join("  " + line for line in source[: last + 1])
    return item


def table_sentences(text):
    """Enumerators that a table of rows X(NAME, value, "sentence") makes."""
    return {
        "NX_" + name: (value, sentence)
        for name, value, sentence in re.findall(r'X\((\w+), (\d+), "(.*?)"\)', text)
    }


def enum(node, text):
    rows, next_value = table_sentences(text), 0
    name = plain(node, "name")
    first = plain(node.find("enumvalue"), "name")  # by which one without a name is known
    item = Item(
        line_of(node),
        "enum",
        name,
        [name if name and not name.startswith("@") else f"@{first}"],
        described(node),
    )
    for entry in node.iter("enumvalue"):
        own = plain(entry, "name")
        told = plain(entry, "initializer").lstrip("= \n")
        value, sentence = rows.get(own, (told or str(next_value), described(entry)))
        next_value = int(value, 0) + 1 if re.fullmatch(r"\d+", value) else 0
        item.members.append(Item(line_of(node), "enumerator", own, [f"{own} = {value}"], sentence))
    return item


def define(node):
    arguments = [plain(p, "defname") for p in node.findall("param")]
    name = plain(node, "name")
    return Item(
        line_of(node),
        "macro",
        name,
        [name + (f"({', '.join(arguments)})" if arguments else "")],
        described(node),
    )


def function(node):
    kind = plain(node, "type")
    for word in "static ", "inline ", "NX_API ":
        kind = kind.replace(word, "")
    signature = (
        f"{kind}{'' if kind.endswith('*') else ' '}{plain(node, 'name')}{plain(node, 'argsstring')}"
    )
    return Item(line_of(node), "function", plain(node, "name"), [signature], described(node))


def typedef(node):
    kind, name = plain(node, "type"), plain(node, "name")
    opaque = kind.startswith("struct ")
    signature = name if opaque else f"{kind} {name}{plain(node, 'argsstring')}"
    return Item(line_of(node), "struct" if opaque else "type", name, [signature], described(node))


MAKERS = {"function": function, "define": define, "typedef": typedef}


def declarations(folder, header, text):
    """All of one header, by line. What is defined in the names of the guard is no part of the
    interface."""
    index = xml.parse(folder / "index.xml").getroot()
    ids = {
        entry.find("name").text: entry.get("refid")
        for entry in index.iter("compound")
        if entry.get("kind") in ("file", "struct", "union")
    }
    file = xml.parse(folder / f"{ids[header]}.xml").getroot()
    found = {}
    for inner in file.iter("innerclass"):
        item = struct(xml.parse(folder / f"{inner.get('refid')}.xml").getroot(), text)
        if "@" not in item.name and "." not in item.name:
            found[item.name] = item
    for node in file.iter("memberdef"):
        name = plain(node, "name")
        if (
            name.endswith("_H")
            or name.startswith("NX_STATUS_ROW")
            or name in found
            or name == "NX_API"
        ):
            continue
        kind = node.get("kind")
        item = enum(node, text) if kind == "enum" else MAKERS[kind](node)
        found[item.signatures[0]] = item
    return sorted(found.values(), key=lambda item: item.line)


def joined(items, text):
    """Declarations that share a comment as one item of several signatures."""
    lines, out = text.split("\n"), []
    for item in items:
        above = lines[item.line - 2].strip()
        shares = (
            out
            and not item.text
            and not item.members
            and out[-1].kind == item.kind
            and above
            and not above.endswith("*/")
        )
        if shares:
            out[-1].signatures += item.signatures
        else:
            out.append(item)
    return out


# ---- pages


def title_of(text):
    """A section's comment: its title and what else it says."""
    text = text.strip("- ")
    title, _, rest = text.partition(". ")
    if len(title) > 60:
        title, mark, more = re.match(r"([^;:,]*)([;:,] )?(.*)", " ".join(title.split())).groups()
        rest = (more[:1].upper() + more[1:] + ". " + rest) if mark else rest
    title = " ".join(title.split()).rstrip(".")
    return title[:1].upper() + title[1:], rest


def members(items, names):
    """Members of one line share the comment behind it."""
    for number, item in enumerate(items):
        signatures, text = [item.signatures[0]], item.text
        while (
            number + len(signatures) < len(items)
            and not text
            and items[number + len(signatures)].line == item.line
        ):
            follower = items[number + len(signatures)]
            signatures.append(follower.signatures[0])
            text = follower.text
        yield from directive(
            Item(item.line, item.kind, item.name, [item.signatures[0]], text), names
        )


def directive(item, names):
    kind = "member" if item.kind == "member" else item.kind
    lead = f".. c:{kind}:: "
    first, *others = item.signatures
    yield lead + first
    yield from (" " * len(lead) + other for other in others)
    yield ""
    yield from ("   " + line if line else "" for line in prose(item.text, names))
    yield from ("   " + line if line else "" for line in members(item.members, names))


def heading(title, mark):
    return [title, mark * len(title), ""]


def page(header, text, items, names):
    """The page of a header."""
    first, *more = head(text).split("\n\n")
    lines = [
        *heading(header, "="),
        f"``#include <nx/{header}>``",
        "",
        *prose(first, names),
        *prose("\n\n".join(more), names),
    ]
    free = [Item(line, "prose", text=told) for line, told in free_comments(text) if line > 2]
    above = None
    for item in sorted(free + joined(items, text), key=lambda item: item.line):
        above, before = item.kind, above
        if item.kind != "prose":
            if (
                item.kind == "function"
                and not item.text
                and not (before == "prose" or text.split("\n")[item.line - 2].strip())
            ):
                raise Fault(f"{header}:{item.line}: {item.name} has no comment")
            lines += directive(item, names)
        elif item.text.startswith("----"):
            title, rest = title_of(item.text)
            lines += [*heading(linked(title, names), "-"), *prose(rest, names)]
        else:
            lines += prose(item.text, names)
    return "\n".join(lines)


def roles(items):
    """Each name of the interface with the role that links to it."""
    for item in items:
        role = {"function": "func"}.get(item.kind, item.kind)
        if item.name and not item.name.startswith("@"):
            yield item.name, role
        yield from ((inner.name, "enumerator") for inner in item.members if item.kind == "enum")


def read(folder, headers):
    """Of each header: (name, text, declarations)."""
    place = {stem: number for number, stem in enumerate(ORDER)}
    for path in sorted(
        headers.glob("*.h"), key=lambda path: (place.get(path.stem, len(place)), path.stem)
    ):
        text = path.read_text(encoding="utf-8")
        check_comments(path.name, text)
        yield path.name, text, declarations(folder, path.name, text)


def write(xml_folder, headers, out):
    """Writes the pages and their index; returns the names with their roles."""
    found = [entry for entry in read(xml_folder, headers) if entry[2]]
    names = {name: role for _, _, items in found for name, role in roles(items)}
    out.mkdir(parents=True, exist_ok=True)
    rows = []
    for header, text, items in found:
        stem = header.removesuffix(".h")
        (out / f"{stem}.rst").write_text(page(header, text, items, names), encoding="utf-8")
        rows.append(
            (
                stem,
                header,
                head(text).split("\n\n")[0].split(". ")[0].replace("\n", " ").rstrip(".") + ".",
            )
        )
    lines = [
        *heading("Reference of the interface", "="),
        "One page a header; ``#include <nx/nx.h>`` includes all of them. :ref:`genindex` lists "
        "every name.",
        "",
    ]
    lines += [
        f":doc:`{header} <api/{stem}>`\n   {linked(sentence, names)}\n"
        for stem, header, sentence in rows
    ]
    lines += [
        ".. toctree::",
        "   :hidden:",
        "",
        *(f"   {header} <api/{stem}>" for stem, header, _ in rows),
        "",
    ]
    out.with_suffix(".rst").write_text("\n".join(lines), encoding="utf-8")
    return names
