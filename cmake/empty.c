/* Keeps library targets that consist of object libraries non-empty for every generator. */
typedef int weft_empty_translation_unit;
