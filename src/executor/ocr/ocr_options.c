#include "executor/ocr/ocr_options.h"

#include "executor/ocr/ocr_boxes.h"

static const weft_enum_value limit_rules[] = {
    {"longest", WEFT_OCR_LIMIT_LONGEST,
     "a picture whose longest side is over limit_side is scaled down to it; a smaller one is left as it is"},
    {"shortest", WEFT_OCR_LIMIT_SHORTEST,
     "a picture whose shortest side is under limit_side is scaled up to it; a larger one is left as it is"},
    {0},
};

#define AT(field) offsetof(weft_ocr_boxes_block, field)
static const weft_option boxes_options[] = {
    {.name = "limit_side",
     .kind = WEFT_OPT_INT,
     .offset = AT(limit_side),
     .def = "960",
     .min = 32,
     .max = WEFT_OCR_MAX_LIMIT_SIDE,
     .unit = "px",
     .help = "size at which the detector sees the picture, see limit_rule; not used when preprocess.input_size or the model "
             "fixes the size",
     .details = "Each side is then rounded to a multiple of 32. A larger limit finds smaller text in large pictures; the time "
                "grows with its square."},
    {.name = "limit_rule",
     .kind = WEFT_OPT_ENUM,
     .offset = AT(limit_rule),
     .def = "longest",
     .values = limit_rules,
     .help = "which side limit_side is about"},
    {.name = "threshold",
     .alias = "det_threshold",
     .kind = WEFT_OPT_FLOAT,
     .offset = AT(threshold),
     .def = "0.3",
     .min = 0,
     .max = 1,
     .help = "a point of the detector's map above this is text"},
    {.name = "box_threshold",
     .kind = WEFT_OPT_FLOAT,
     .offset = AT(box_threshold),
     .def = "0.5",
     .min = 0,
     .max = 1,
     .help = "boxes whose mean in the map is lower are dropped",
     .details =
         "Upstream drops boxes under 0.6, which loses curved lines of photographed pages (seen: 0.51 and 0.56). At 0.5 more "
         "true lines and no more false ones were read on the pictures of the tests: what is no text is dropped later, by "
         "postprocess.min_confidence."},
    {.name = "unclip",
     .alias = "unclip_ratio",
     .kind = WEFT_OPT_FLOAT,
     .offset = AT(unclip),
     .def = "1.5",
     .min = 0,
     .max = 10,
     .help = "how far boxes grow beyond the core of the text: distance = area x unclip / perimeter",
     .details = "Detectors of the DB family mark a shrunken core of each line; this undoes it. Letters cut off at the ends of "
                "lines ask for more, neighbouring lines "
                "that run into each other for less."},
    {.name = "min_side",
     .kind = WEFT_OPT_FLOAT,
     .offset = AT(min_side),
     .def = "3",
     .min = 1,
     .max = 100,
     .unit = "px",
     .help = "cores of text with a shorter side in the map are dropped"},
    {.name = "max_boxes",
     .kind = WEFT_OPT_INT,
     .offset = AT(max_boxes),
     .def = "1000",
     .min = 1,
     .max = WEFT_OCR_MAX_BOXES,
     .unit = "boxes",
     .help =
         "at most so many candidates are looked at, from the top of the picture; bounds the work on pictures that are all noise"},
    {.name = "small_border",
     .kind = WEFT_OPT_INT,
     .offset = AT(small_border),
     .def = "32",
     .min = 0,
     .max = 256,
     .unit = "px",
     .help = "pictures with a side shorter than five times this get a plain border so wide before they are searched; 0 = none",
     .details = "Detectors miss text that touches the edge of the picture, as it does in tight crops of a word or a label."},
    {0},
};
#undef AT

#define AT(field) offsetof(weft_ocr_lines_block, field)
static const weft_option lines_options[] = {
    {.name = "min_width",
     .kind = WEFT_OPT_INT,
     .offset = AT(min_width),
     .def = "160",
     .min = 16,
     .max = WEFT_OCR_MAX_LINE_WIDTH,
     .unit = "px",
     .help = "the recogniser's least input width; shorter lines are padded on the right",
     .details = "Upstream pads to at least 320. Measured on 600 blurred lines, Chinese and English: 2.87 % wrong characters at "
                "160, 2.96 % at 320, and a "
                "fifth less work."},
    {.name = "width_step",
     .kind = WEFT_OPT_INT,
     .offset = AT(width_step),
     .def = "32",
     .min = 8,
     .max = 1024,
     .unit = "px",
     .help = "wider lines are padded to the next multiple of this",
     .details = "The padded width depends on the line alone, never on the lines that share a run with it, so a page gives the "
                "same text and the same scores whatever else the "
                "server is doing. (Padding to the widest line of a batch, as is customary, moves scores in the third decimal and "
                "now and then a character.) A larger step "
                "lets more lines share runs where the model batches and means fewer shapes; it costs the padding."},
    {.name = "max_width",
     .alias = "max_line_width",
     .kind = WEFT_OPT_INT,
     .offset = AT(max_width),
     .def = "3200",
     .min = 16,
     .max = WEFT_OCR_MAX_LINE_WIDTH,
     .unit = "px",
     .help = "longer lines (at the recogniser's height) are squeezed to it; bounds memory and time"},
    {.name = "widths",
     .kind = WEFT_OPT_LIST,
     .item = WEFT_OPT_INT,
     .offset = AT(widths),
     .min = 16,
     .max = WEFT_OCR_MAX_LINE_WIDTH,
     .max_count = 32,
     .unit = "px",
     .help = "the only input widths there are, for recognisers compiled for fixed shapes; replaces the three above"},
    {.name = "in_flight",
     .kind = WEFT_OPT_INT,
     .offset = AT(in_flight),
     .def = "0",
     .min = 0,
     .max = WEFT_OCR_MAX_IN_FLIGHT,
     .unit = "lines",
     .help = "lines of one page that wait for the recogniser or run at once; 0 = twice its largest batch, at least 4"},
    {0},
};
#undef AT

static const weft_enum_value directions[] = {
    {"left-to-right", WEFT_OCR_LEFT_TO_RIGHT, "rows from the top, each from the left"},
    {"right-to-left", WEFT_OCR_RIGHT_TO_LEFT,
     "rows from the top, each from the right, and the characters of each row too (old Chinese signs; the recogniser itself "
     "always reads from the left)"},
    {"columns", WEFT_OCR_COLUMNS, "columns from the right, each from the top"},
    {0},
};

#define AT(field) offsetof(weft_ocr_postprocess, field)
static const weft_option postprocess_options[] = {
    {.name = "min_confidence",
     .alias = "min_score",
     .kind = WEFT_OPT_FLOAT,
     .offset = AT(min_confidence),
     .def = "0.5",
     .min = 0,
     .max = 1,
     .help = "lines read with a lower score are left out; a call may set it with the parameter min_confidence",
     .details =
         "The score of a line is the mean probability of its characters. Without a recogniser it is the score of the box."},
    {.name = "max_texts",
     .kind = WEFT_OPT_INT,
     .offset = AT(max_texts),
     .def = "1000",
     .min = 1,
     .max = WEFT_OCR_MAX_TEXTS,
     .unit = "lines",
     .help = "at most so many lines, the first ones in reading order; a call may set it with the parameter max_texts"},
    {.name = "direction",
     .kind = WEFT_OPT_ENUM,
     .offset = AT(direction),
     .def = "left-to-right",
     .values = directions,
     .help = "the reading order of the lines"},
    {.name = "row_tolerance",
     .kind = WEFT_OPT_FLOAT,
     .offset = AT(row_tolerance),
     .def = "10",
     .min = 0,
     .max = 1000,
     .unit = "px",
     .help = "boxes whose tops differ by less are one row; grows with the picture when the detector sees it scaled down"},
    {0},
};
#undef AT

static const weft_enum_value orientations[] = {
    {"auto", WEFT_OCR_ORIENTATION_AUTO, "page when an orient model is given, else off"},
    {"off", WEFT_OCR_ORIENTATION_OFF, "every line is taken as upright"},
    {"page", WEFT_OCR_ORIENTATION_PAGE, "the lines of a page vote: all of them are turned by 180 degrees, or none"},
    {"line", WEFT_OCR_ORIENTATION_LINE, "each line is turned by 180 degrees when the model is sure that it stands on its head"},
    {0},
};

#define AT(field) offsetof(weft_ocr_options, field)
const weft_option weft_ocr_option_table[] = {
    {.name = "preprocess",
     .kind = WEFT_OPT_STRUCT,
     .offset = AT(preprocess),
     .fields = weft_preprocess_option_table,
     .item_size = sizeof(weft_preprocess_options),
     .help = "how a picture becomes the detector's input",
     .details = "Without any of it: BGR order, divided by 255, ImageNet's mean and standard deviation, at the size that "
                "boxes.limit_side gives, stretched to multiples of 32. With a "
                "fixed size (input_size, or the model's own) the picture keeps its ratio in the top left corner unless "
                "resize_mode says otherwise; crop is refused, it would cut "
                "text away."},
    {.name = "boxes",
     .kind = WEFT_OPT_STRUCT,
     .offset = AT(boxes),
     .fields = boxes_options,
     .item_size = sizeof(weft_ocr_boxes_block),
     .help = "how lines of text are found"},
    {.name = "lines",
     .kind = WEFT_OPT_STRUCT,
     .offset = AT(lines),
     .fields = lines_options,
     .item_size = sizeof(weft_ocr_lines_block),
     .help = "how a line becomes the recogniser's input"},
    {.name = "dictionary",
     .kind = WEFT_OPT_STRING,
     .offset = AT(dictionary),
     .is_path = true,
     .help = "text file with the recogniser's characters, one a line; needed with a recogniser",
     .details = "Class 0 of the model is the blank, class k is line k of the file, and one class more is the space. The number "
                "of lines must fit the model."},
    {.name = "orientation",
     .kind = WEFT_OPT_ENUM,
     .offset = AT(orientation),
     .def = "auto",
     .values = orientations,
     .help = "what is done about text that stands on its head",
     .details = "One line alone is not judged well: upright lines were seen with 0.94 for upside down. So by default the surest "
                "lines of the page vote."},
    {.name = "orientation_threshold",
     .kind = WEFT_OPT_FLOAT,
     .offset = AT(orientation_threshold),
     .def = "0.97",
     .min = 0.5,
     .max = 1,
     .help = "a line counts as upright or upside down when the orient model gives at least this"},
    {.name = "postprocess",
     .kind = WEFT_OPT_STRUCT,
     .offset = AT(postprocess),
     .fields = postprocess_options,
     .item_size = sizeof(weft_ocr_postprocess),
     .help = "which lines an answer holds"},
    {0},
};
#undef AT
