/* What the subcommands of the program share: exit codes, arguments, terminal, opening a configuration. */
#ifndef WEFT_CLI_CLI_H
#define WEFT_CLI_CLI_H

#include <stdio.h>

#include "config/config.h"
#include "weft/engine.h"

/* Exit codes of the program; also in `weft help`. */
enum {
    WEFT_EXIT_OK = 0,
    WEFT_EXIT_FAILED = 1, /* the work failed: a run, a server, a file that cannot be read */
    WEFT_EXIT_USAGE = 2,  /* the command line is wrong */
    WEFT_EXIT_CONFIG = 3, /* the configuration is wrong */
};

typedef struct weft_command {
    const char *name;
    int (*run)(int argc, char **argv); /* argv[0] is the subcommand's name */
    const char *summary;
    const char *usage; /* whole help text */
} weft_command;

extern const weft_command weft_commands[];
const weft_command *weft_command_find(const char *name);

int weft_cmd_serve(int argc, char **argv);
int weft_cmd_run(int argc, char **argv);
int weft_cmd_inspect(int argc, char **argv);
int weft_cmd_config(int argc, char **argv);
int weft_cmd_new(int argc, char **argv);
int weft_cmd_version(int argc, char **argv);

/* "weft serve: TEXT" and a hint to --help on stderr; returns WEFT_EXIT_USAGE. */
int weft_cli_usage(const char *command, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* What getopt_long refused (argv[optind - 1]): a value is missing, or nobody knows the option. Returns WEFT_EXIT_USAGE. */
struct option;
int weft_cli_bad_option(const char *command, const struct option *table, const char *given);
/* There is no such command, with the nearest one. Returns WEFT_EXIT_USAGE. */
int weft_cli_unknown_command(const char *name);
/* As messages of the program read after "weft serve: ": a small letter first, no full stop at the end. */
void weft_cli_plain(weft_error *err);
/* "weft serve: TEXT" on stderr; returns the exit code for the status. */
int weft_cli_fail(const char *command, const weft_error *err);
/* Prints the help of a command on stdout; returns 0. */
int weft_cli_help(const char *command);

bool weft_cli_is_terminal(FILE *f);

/* Reads a whole file of at most max_bytes; the caller frees *data. */
weft_status weft_cli_read_file(const char *path, size_t max_bytes, unsigned char **data, size_t *n_bytes, weft_error *err);
weft_status weft_cli_write_file(const char *path, const void *data, size_t n_bytes, weft_error *err);
const char *weft_cli_base_name(const char *path);
bool weft_cli_is_folder(const char *path);
/* Is the folder there that path lies in, or would lie in? Its name is written to parent. */
bool weft_cli_parent_exists(const char *path, char *parent, size_t n_parent);
/* ".onnx, .ort, .fake": the file extensions that the backends of this build know. */
void weft_cli_extensions(char *text, size_t n_text);
bool weft_cli_has_model_extension(const char *path);
/* "classify, face, detect or embed": the types that take one model file and a picture. */
void weft_cli_picture_types(char *text, size_t n_text);

/* The configuration to use: `path`, else ./weft.yaml, else one made from the model files of ./models. Prints all mistakes on
 * stderr; *exit_code says how to end on failure. */
weft_config *weft_cli_config(const char *command, const char *path, int *exit_code);
/* A configuration of one model: a file and the name of an executor ("tensor" when NULL). The model is called as the file without
 * its extension. */
weft_config *weft_cli_config_of_file(const char *command, const char *model_path, const char *type, int *exit_code);
/* Creates the engine and loads what `only` needs (NULL = every model), with progress on a terminal. NULL after a printed message.
 */
weft_engine *weft_cli_engine(const char *command, const weft_config *c, const char *only, weft_engine_options *options,
                             int *exit_code);

#endif
