"""Building HTML that is safe by construction: text is escaped unless it is already Markup."""

import html


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


VOID = frozenset({"br", "hr", "img", "input", "link", "meta"})


def tag(name: str, /, *children: str | Markup | None, **attributes: str | bool | int | None) -> Markup:
    """One element. ``class_`` and ``for_`` lose their underscore, others turn it into a hyphen."""
    written = []
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        attribute = key.rstrip("_").replace("_", "-")
        written.append(f" {attribute}" if value is True else f' {attribute}="{html.escape(str(value))}"')
    start = f"<{name}{''.join(written)}>"
    return Markup(start) if name in VOID else Markup(f"{start}{joined(*children)}</{name}>")


def joined(*children: str | Markup | None) -> Markup:
    """Several children in a row; None is nothing."""
    return Markup(
        "".join(
            child if isinstance(child, Markup) else html.escape(child)
            for child in children
            if child is not None
        )
    )
