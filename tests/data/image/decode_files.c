/* Decodes files for compare_packages.py: reads "CHANNELS PATH" lines from stdin and answers each with "STATUS WIDTH HEIGHT
 * CHANNELS FORMAT MESSAGE" and a line break, followed by the pixels (width * height * channels bytes) when STATUS is OK. */
#include "image/decode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint8_t *read_file(const char *path, size_t *n_bytes)
{
    FILE *f = fopen(path, "rb");
    uint8_t *data = NULL;
    if (f && fseek(f, 0, SEEK_END) == 0) {
        long n = ftell(f);
        rewind(f);
        data = n > 0 ? malloc((size_t)n) : NULL;
        *n_bytes = data ? fread(data, 1, (size_t)n, f) : 0;
    }
    if (f)
        fclose(f);
    return data;
}

int main(void)
{
    char line[4096];
    while (fgets(line, sizeof(line), stdin)) {
        int channels = atoi(line), skip = 0;
        size_t n_bytes = 0;
        weft_error err = {0};
        weft_picture p = {0};
        weft_picture_info info;
        line[strcspn(line, "\n")] = 0;
        sscanf(line, "%*d %n", &skip);
        uint8_t *bytes = read_file(line + skip, &n_bytes);
        weft_picture_probe(bytes, n_bytes, NULL, &info, NULL);
        weft_status s = weft_picture_decode(bytes, n_bytes, NULL, channels, &p, &err);
        printf("%s %d %d %d %s %s\n", weft_status_name(s), p.width, p.height, channels, weft_picture_format_name(info.format),
               s == WEFT_OK ? "" : err.text);
        if (s == WEFT_OK)
            fwrite(p.data, 1, (size_t)p.width * (size_t)p.height * (size_t)channels, stdout);
        fflush(stdout);
        weft_picture_destroy(&p);
        free(bytes);
    }
    return 0;
}
