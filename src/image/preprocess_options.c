#include "image/preprocess.h"

static const weft_enum_value resize_modes[] = {
    {"auto", WEFT_RESIZE_AUTO, "what the model type wants; stretch where it has no opinion"},
    {"stretch", WEFT_RESIZE_STRETCH, "both axes scaled to the input size, ratio not kept"},
    {"letterbox", WEFT_RESIZE_LETTERBOX, "ratio kept, picture centred, the rest padded"},
    {"crop", WEFT_RESIZE_CROP, "ratio kept, input filled, the middle cut out"},
    {"top_left", WEFT_RESIZE_TOP_LEFT, "letterbox with the picture in the top left corner"},
    {NULL, 0, NULL},
};

static const weft_enum_value interpolations[] = {
    {"auto", WEFT_INTERPOLATION_AUTO, "what the model type wants; else area when shrinking, bilinear when growing"},
    {"nearest", WEFT_INTERPOLATION_NEAREST, "as OpenCV INTER_NEAREST"},
    {"bilinear", WEFT_INTERPOLATION_BILINEAR, "as OpenCV INTER_LINEAR"},
    {"area", WEFT_INTERPOLATION_AREA, "as OpenCV INTER_AREA"},
    {"bicubic", WEFT_INTERPOLATION_BICUBIC, "as OpenCV INTER_CUBIC"},
    {NULL, 0, NULL},
};

static const weft_enum_value channel_orders[] = {
    {"auto", WEFT_CHANNELS_AUTO, "what the model type wants; rgb where it has no opinion"},
    {"rgb", WEFT_CHANNELS_RGB, "red first"},
    {"bgr", WEFT_CHANNELS_BGR, "blue first, as OpenCV stores pictures"},
    {NULL, 0, NULL},
};

static const weft_enum_value tristates[] = {
    {"auto", WEFT_TRI_AUTO, "true when mean or std is given, else what the model type wants"},
    {"true", WEFT_TRI_TRUE, "scale, mean and std are applied; ImageNet's where none are given"},
    {"false", WEFT_TRI_FALSE, "the model gets the pixels as they are"},
    {NULL, 0, NULL},
};

static const weft_enum_value layouts[] = {
    {"auto", WEFT_LAYOUT_AUTO, "from the model's input shape"},
    {"nchw", WEFT_LAYOUT_NCHW, "planes: channel, row, column"},
    {"nhwc", WEFT_LAYOUT_NHWC, "pixels: row, column, channel"},
    {NULL, 0, NULL},
};

static const weft_enum_value dtypes[] = {
    {"auto", WEFT_INPUT_DTYPE_AUTO, "the model's"},
    {"fp32", WEFT_INPUT_DTYPE_FP32, "32-bit float"},
    {"fp16", WEFT_INPUT_DTYPE_FP16, "16-bit float"},
    {"uint8", WEFT_INPUT_DTYPE_UINT8, "bytes"},
    {NULL, 0, NULL},
};

#define AT(member) .offset = offsetof(weft_preprocess_options, member)

const weft_option weft_preprocess_option_table[] = {
    {.name = "input_size",
     .kind = WEFT_OPT_SIZE,
     AT(input_size),
     .min = 1,
     .max = 16384,
     .unit = "px",
     .help = "size of the model's picture input, [width, height]",
     .details = "Not needed when the model file fixes its input size; when both are given they must be equal. Needed for a model "
                "with a dynamic size."},
    {.name = "resize_mode",
     .kind = WEFT_OPT_ENUM,
     AT(resize_mode),
     .def = "auto",
     .values = resize_modes,
     .help = "how a picture of another shape comes to the input size"},
    {.name = "interpolation",
     .kind = WEFT_OPT_ENUM,
     AT(interpolation),
     .def = "auto",
     .values = interpolations,
     .help = "how pixels are computed when the size changes"},
    {.name = "channel_order",
     .kind = WEFT_OPT_ENUM,
     AT(channel_order),
     .def = "auto",
     .values = channel_orders,
     .help = "order of the colours in the tensor"},
    {.name = "normalize",
     .alias = "normalise",
     .kind = WEFT_OPT_ENUM,
     AT(normalize),
     .def = "auto",
     .values = tristates,
     .help = "whether pixels are scaled and shifted",
     .details = "The model gets (pixel * scale - mean) / std. true without mean and std takes ImageNet's: scale 1/255, mean "
                "0.485 0.456 0.406, std 0.229 0.224 "
                "0.225 (for a grey input their means, 0.449 and 0.226). false gives the pixel as it is, 0 to 255. auto is true "
                "when mean or std is given; "
                "without them it is what the model type wants, and the pixel as it is where it has no opinion."},
    {.name = "mean",
     .kind = WEFT_OPT_LIST,
     AT(mean),
     .item = WEFT_OPT_FLOAT,
     .max_count = 4,
     .help = "subtracted from each channel: one number, or one for each channel in the tensor's channel order",
     .details = "Only mean given: std is 1; only std given: mean is 0; with normalize: true the missing one is ImageNet's."},
    {.name = "std",
     .kind = WEFT_OPT_LIST,
     AT(std),
     .item = WEFT_OPT_FLOAT,
     .max_count = 4,
     .help = "each channel is divided by it: one number, or one for each channel"},
    {.name = "scale",
     .kind = WEFT_OPT_FLOAT,
     AT(scale),
     .help = "factor on the pixel before mean and std; 0 = not given",
     .details = "Not given: 1/255 when mean or std is used and none of their numbers is larger than 1 in size, 1 when one is "
                "(they are in grey levels then)."},
    {.name = "layout", .kind = WEFT_OPT_ENUM, AT(layout), .def = "auto", .values = layouts, .help = "order of the tensor's axes"},
    {.name = "dtype",
     .kind = WEFT_OPT_ENUM,
     AT(dtype),
     .def = "auto",
     .values = dtypes,
     .help = "element type of the tensor; must be the model's"},
    {.name = "pad_value",
     .kind = WEFT_OPT_INT,
     AT(pad_value),
     .def = "-1",
     .min = -1,
     .max = 255,
     .help = "grey level of letterbox borders; -1 = what the model type wants, 0 where it has no opinion"},
    {.name = "aipp",
     .kind = WEFT_OPT_BOOL,
     AT(aipp),
     .def = "false",
     .help = "the compiled model has AIPP inside: it gets bytes and does colour order, scale, mean and std itself",
     .details = "normalize, mean, std, scale and channel_order then only describe what was compiled in. The model's input must "
                "be UINT8."},
    {.name = "crop_fraction",
     .kind = WEFT_OPT_FLOAT,
     AT(crop_fraction),
     .min = 0,
     .max = 1,
     .help =
         "resize_mode crop: part of the shorter scaled side that is kept; 0.875 scales it to 256 for a 224 input; 0 = not given"},
    {.name = "max_picture_bytes",
     .kind = WEFT_OPT_BYTES,
     AT(max_picture_bytes),
     .def = "64MiB",
     .min = 1024,
     .max = 1073741824,
     .help = "largest encoded picture"},
    {.name = "max_picture_pixels",
     .kind = WEFT_OPT_BYTES,
     AT(max_picture_pixels),
     .def = "50000000",
     .min = 1,
     .max = 1000000000,
     .unit = "px",
     .help = "most pixels (width times height) of a picture, checked before it is decoded"},
    {.name = "max_picture_side_px",
     .kind = WEFT_OPT_INT,
     AT(max_picture_side_px),
     .def = "16384",
     .min = 1,
     .max = 65535,
     .unit = "px",
     .help = "longest side of a picture, checked before it is decoded"},
    {.kind = WEFT_OPT_END},
};
