"""Prints the answer of a predict call as a small table: show_answer.py ANSWER.json"""
import json
import sys
import unicodedata

MOST_ROWS = 12
WIDEST = 60


def cell(value):
    if isinstance(value, float):
        return f"{value:.3f}" if abs(value) < 10 else f"{value:.0f}"
    if isinstance(value, list):
        return " ".join(cell_point(v) for v in value)
    return str(value)


def cell_point(value):
    return ",".join(f"{v:.0f}" for v in value) if isinstance(value, list) else f"{value:.0f}"


def width_of(text):
    """Columns on a terminal: Chinese characters take two."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def table(items):
    columns = list(dict.fromkeys(key for item in items for key in item))
    rows = [columns] + [[cell(item.get(c, ""))[:WIDEST] for c in columns] for item in items[:MOST_ROWS]]
    widths = [max(width_of(row[i]) for row in rows) for i in range(len(columns))]
    for row in rows:
        print("  " + "  ".join(text + " " * (width - width_of(text)) for text, width in zip(row, widths)).rstrip())
    if len(items) > MOST_ROWS:
        print(f"  and {len(items) - MOST_ROWS} more")


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        answer = json.load(file)
    if "error" in answer:
        sys.exit("  " + str(answer["error"].get("message", answer["error"])))
    items = answer.get("items", [])
    if items:
        table(items)
    else:
        print("  nothing found")


if __name__ == "__main__":
    main()
