#!/usr/bin/env python3
"""Renders pages with known text for the OCR tests: ocr_pages.py OUTDIR.

Writes OUTDIR/NAME.png and OUTDIR/NAME.txt (one line of text a row, in reading order), and OUTDIR/pages.lst with the names. The same
input gives the same pages: no random numbers, fonts from the packages fonts-noto-cjk and fonts-wqy-zenhei. Exits with 77 when a font or Pillow is missing.
"""
import os
import sys

try:
    from PIL import Image, ImageDraw, ImageFilter, ImageFont
except ImportError:
    print("Pillow is missing: install python3-pil")
    sys.exit(77)

SANS = "/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc"
SERIF = "/usr/share/fonts/opentype/noto/NotoSerifCJK-Regular.ttc"
BOLD = "/usr/share/fonts/opentype/noto/NotoSansCJK-Bold.ttc"
WQY = "/usr/share/fonts/truetype/wqy/wqy-zenhei.ttc"
SC = 2  # face of the Noto collections with simplified Chinese forms

NOTICE = ["推理服务使用说明", "第一章 安装与启动", "服务启动前请先检查驱动版本和固件版本", "多个模型可以放在同一个进程里运行",
          "每个请求都有编号、优先级和截止时间", "队列已满时服务器返回四百二十九", "模型出错后会自动恢复并重新预热", "联系电话：010-62785188"]
LETTER = ["Serving several models on one card", "The runtime is initialised once for the whole process.", "Every request carries an identifier and a deadline.",
          "Small requests never wait behind large ones for long.", "Throughput rose from 18 to 47 pages per minute.", "Questions? Write to support@example.org",
          "Published on 14 March 2025"]
MIXED = ["订单编号 Order No. 20250314", "型号 Model: Atlas 300I Pro", "数量 Quantity：12", "单价 Price：6800.00", "合计金额 Total：81600.00", "收货人：王小明",
         "地址：杭州市西湖区文三路478号", "备注 Remarks: 请在工作日送货"]
BOOK = ["人工智能的发展离不开计算能力的提升", "从最初的感知机到今天的大规模语言模型", "硬件和软件始终在互相推动", "推理阶段最关心的是延迟和吞吐量",
        "而训练阶段更看重精度与稳定性", "一个好的系统应当让使用者少操心"]
REPORT = ["Quarterly report", "Requests served: 1284503", "Median latency: 23 ms", "Slowest percentile: 184 ms", "Uptime: 99.98 percent", "Cards in use: 16",
          "Next review: 30 June 2025"]


def page(lines, font, size, width=1000, gap=1.75, ink=(20, 20, 20), paper=(252, 251, 247), index=SC, margin=50):
    height = int(margin * 2 + len(lines) * size * gap)
    image = Image.new("RGB", (width, height), paper)
    draw = ImageDraw.Draw(image)
    face = ImageFont.truetype(font, size, index=index)
    for i, text in enumerate(lines):
        draw.text((margin, margin + int(i * size * gap)), text, font=face, fill=ink)
    return image


def pages():
    notice = page(NOTICE, SANS, 34)
    letter = page(LETTER, SANS, 30)
    mixed = page(MIXED, WQY, 32, index=0)
    book = page(BOOK, SERIF, 36)
    report = page(REPORT, BOLD, 32, ink=(240, 240, 240), paper=(30, 40, 60))
    yield "notice", NOTICE, notice
    yield "letter", LETTER, letter
    yield "mixed", MIXED, mixed
    yield "book", BOOK, book
    yield "report", REPORT, report
    # Variants: what scanners and phones do to a page.
    yield "tilted", MIXED, mixed.rotate(7, expand=True, resample=Image.BICUBIC, fillcolor=(252, 251, 247))
    yield "reversed", NOTICE, notice.rotate(180)
    small = letter.resize((letter.width * 3 // 5, letter.height * 3 // 5), Image.LANCZOS)
    yield "small", LETTER, small.filter(ImageFilter.GaussianBlur(0.4))


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: ocr_pages.py OUTDIR")
    for font in (SANS, SERIF, BOLD, WQY):
        if not os.path.exists(font):
            print("font missing: %s (packages fonts-noto-cjk, fonts-wqy-zenhei)" % font)
            sys.exit(77)
    out = sys.argv[1]
    os.makedirs(out, exist_ok=True)
    names = []
    for name, lines, image in pages():
        image.save(os.path.join(out, name + ".png"))
        with open(os.path.join(out, name + ".txt"), "w", encoding="utf-8") as f:
            f.write("\n".join(lines) + "\n")
        names.append(name)
    with open(os.path.join(out, "pages.lst"), "w", encoding="utf-8") as f:
        f.write("\n".join(names) + "\n")


if __name__ == "__main__":
    main()
