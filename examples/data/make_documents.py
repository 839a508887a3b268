"""Makes the two binary documents of the example data: `docs/lease.pdf` and `docs/recipe.docx`.

Run it as `python examples/data/make_documents.py [folder]`; it needs the `[dev]` extra (reportlab, python-docx).
The same versions of those libraries make the same bytes.
"""

from __future__ import annotations

import io
import sys
import zipfile
from datetime import datetime
from pathlib import Path

from docx import Document
from docx.oxml.ns import qn
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.platypus import Flowable, PageBreak, Paragraph, SimpleDocTemplate

MADE = datetime(2025, 5, 1)  # a constant: a date of today would make other bytes every day
ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)

LEASE_TITLE = "Lease of a furnished flat"
LEASE_PARTIES = [
    ("Landlord", "Gu Yiming, Shanghai"),
    ("Tenant", "Elske Brandsma, formerly of Rotterdam"),
    ("Flat", "No. 3, Lane 210, near Wukang Road, Xuhui District, third floor"),
    ("Term", "15 May 2025 to 14 May 2027"),
]
LEASE_PAGES = [
    [
        (
            "1. Rent",
            "The rent is 9,600 yuan a month, due on the fifth working day. It includes the charge for the "
            "caretaker and the lift, but not water, gas, electricity and the internet connection. The rent may "
            "rise once, after the first year, by at most three per cent.",
        ),
        (
            "2. Deposit",
            "The tenant pays a deposit of two months' rent, 19,200 yuan, before moving in. The landlord returns "
            "it within fourteen days after the keys are handed back, less the cost of damage beyond ordinary "
            "wear. Both sides sign a list of the furniture on the first and on the last day.",
        ),
        (
            "3. Use of the flat",
            "The flat is for living only. Two persons may live in it permanently; guests may stay for up to three "
            "weeks. One cat is allowed, dogs are not. The tenant repairs what the cat scratches. Smoking is "
            "allowed on the balcony only.",
        ),
        (
            "4. The balcony",
            "The balcony carries at most 250 kilograms. Heavy plant pots, a press for books or other machines "
            "must stand inside, next to the bearing wall. Laundry is not hung on the side of the lane.",
        ),
    ],
    [
        (
            "5. Repairs",
            "The tenant reports a fault within three days. The landlord repairs heating, pipes, wiring and "
            "windows at his own cost within one week, and a broken lock on the same day. Repairs below 200 yuan "
            "are paid by the tenant.",
        ),
        (
            "6. Notice",
            "The tenant may end the lease early by giving written notice of sixty days, for the first time after "
            "twelve months. If the employer calls the tenant back to Europe, thirty days are enough; a letter of "
            "the employer is attached to the notice. The landlord may end the lease only for unpaid rent of two "
            "months.",
        ),
        (
            "7. Moving out",
            "The flat is handed back empty of the tenant's things and swept. Walls that were painted in another "
            "colour are painted white again. The three keys and the card of the gate are returned; a lost card "
            "costs 80 yuan.",
        ),
        (
            "8. Signatures",
            "This lease is made in two copies, in Chinese and in English. If they differ, the Chinese text "
            "counts. Signed in Shanghai on 10 May 2025 by Gu Yiming and Elske Brandsma.",
        ),
    ],
]

RECIPE_TITLE = "陆阿姨的红烧肉"
RECIPE_INTRO = "这是陆阿姨家传的做法，四个人吃，从切肉到上桌大约两个小时。肥瘦要相间，火要小，不要着急。"
RECIPE_INGREDIENTS = [
    ("带皮五花肉", "800 克"),
    ("冰糖", "40 克"),
    ("黄酒", "300 毫升"),
    ("生抽", "3 汤匙"),
    ("老抽", "1 汤匙"),
    ("生姜", "5 片"),
    ("小葱", "6 根，打成结"),
    ("八角", "1 颗"),
]
RECIPE_STEPS = [
    "五花肉切成三厘米见方的块，冷水下锅，加两片姜和一勺黄酒，水开以后撇去浮沫，煮三分钟，捞出用温水洗净。",
    "锅里放一点油，小火把冰糖慢慢炒化。糖变成琥珀色、开始冒小泡的时候马上放肉，再晚十秒就会发苦。",
    "把肉翻匀，让每一块都裹上糖色，再放姜片、葱结和八角，炒出香味。",
    "倒入剩下的黄酒、生抽和老抽，加热水没过肉面。水要一次加足，中途不能加冷水。",
    "盖上锅盖，用最小的火炖九十分钟。中间轻轻翻动两次，免得粘底。",
    "最后开大火收汁五分钟，汤汁变稠发亮就可以关火，撒一点葱花。",
]
RECIPE_TIPS = [
    "砂锅比铁锅好，热得匀，肉不容易柴。",
    "剩下的汤汁不要倒掉，第二天放两个剥了壳的鸡蛋进去一起煮，味道更好。",
    "客人里有人对坚果过敏的话，不要用花生油炒糖，换成菜籽油。",
]


def lease_pdf() -> bytes:
    """The lease as a PDF of two pages, in fonts whose text can be extracted."""
    styles = getSampleStyleSheet()
    story: list[Flowable] = [Paragraph(LEASE_TITLE, styles["Title"])]
    story += [Paragraph(f"{name}: {value}", styles["BodyText"]) for name, value in LEASE_PARTIES]
    for number, page in enumerate(LEASE_PAGES):
        if number:
            story.append(PageBreak())
        for heading, text in page:
            story += [Paragraph(heading, styles["Heading2"]), Paragraph(text, styles["BodyText"])]
    out = io.BytesIO()
    SimpleDocTemplate(out, pagesize=A4, title=LEASE_TITLE, author="memreader contributors", invariant=1).build(story)
    return out.getvalue()


def recipe_docx() -> bytes:
    """The recipe as a Word document: headings, a table, numbered steps and a list."""
    document = Document()
    normal = document.styles["Normal"]
    normal.font.name = "SimSun"
    normal.element.rPr.rFonts.set(qn("w:eastAsia"), "SimSun")
    properties = document.core_properties
    properties.title, properties.author, properties.language = RECIPE_TITLE, "memreader contributors", "zh-CN"
    properties.created = properties.modified = MADE
    document.add_heading(RECIPE_TITLE, level=1)
    document.add_paragraph(RECIPE_INTRO)
    document.add_heading("材料", level=2)
    table = document.add_table(rows=1, cols=2)
    table.rows[0].cells[0].text, table.rows[0].cells[1].text = "材料", "分量"
    for name, amount in RECIPE_INGREDIENTS:
        cells = table.add_row().cells
        cells[0].text, cells[1].text = name, amount
    document.add_heading("做法", level=2)
    for step in RECIPE_STEPS:
        document.add_paragraph(step, style="List Number")
    document.add_heading("窍门", level=2)
    for tip in RECIPE_TIPS:
        document.add_paragraph(tip, style="List Bullet")
    out = io.BytesIO()
    document.save(out)
    return without_clock(out.getvalue())


def without_clock(archive: bytes) -> bytes:
    """The same zip archive with one fixed time stamp on every entry."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for entry in old.infolist():
            stamped = zipfile.ZipInfo(entry.filename, date_time=ZIP_EPOCH)
            stamped.compress_type = zipfile.ZIP_DEFLATED
            new.writestr(stamped, old.read(entry))
    return out.getvalue()


def main(folder: Path) -> None:
    """Write both documents into `folder`, which is made if it is absent."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in {"lease.pdf": lease_pdf(), "recipe.docx": recipe_docx()}.items():
        (folder / name).write_bytes(content)
        print(f"{folder / name}: {len(content)} bytes")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "docs")
