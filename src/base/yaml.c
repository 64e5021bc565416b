#include "base/yaml.h"

void yaml_put(FILE *out, const char *text, bool is_key)
{
    fputc('"', out);
    for (const char *s = text; *s; s++)
        if (*s == '"' || *s == '\\')
            fprintf(out, "\\%c", *s);
        else if ((unsigned char)*s < 0x20)
            fprintf(out, "\\x%02x", (unsigned)*s);
        else if (*s == '$' && s[1] == '{' && !is_key)
            fputs("$$", out);
        else
            fputc(*s, out);
    fputc('"', out);
}
