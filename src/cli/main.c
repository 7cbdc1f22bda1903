/* weft: dispatches to one file a subcommand. */
#include <string.h>

#include "cli/cli.h"

static const char help_run[] =
    "usage: weft run MODEL PICTURE... [options]\n"
    "       weft run MODEL --input NAME=FILE.npy... [options]\n"
    "\n"
    "Runs a model once for each picture and prints what it found. MODEL is a name from the configuration or the path of a\n"
    "model file.\n"
    "\n"
    "  -c, --config FILE     configuration (default: ./weft.yaml, else the files of ./models)\n"
    "  -t, --type NAME       with a model file: its executor, such as classify or face (default tensor)\n"
    "  -i, --input NAME=FILE a tensor from a NumPy .npy file; NAME= may be left out when the model has one input\n"
    "  -d, --draw FILE       write the picture with the result drawn on it (.png or .jpg; a folder with several pictures)\n"
    "  -o, --output DIR      write each tensor of the result as DIR/NAME.npy\n"
    "      --timeout MS      deadline of each run\n"
    "      --json            one JSON object a line instead of tables\n"
    "      --debug           show the debug log on stderr\n"
    "\n"
    "examples:\n"
    "  weft run face photo.jpg --config examples/demo.yaml --draw faces.png\n"
    "  weft run mobilenet.onnx --input image.npy --json\n";

static const char help_serve[] =
    "usage: weft serve [options]\n"
    "\n"
    "Loads every model of the configuration and answers over HTTP and gRPC until SIGTERM or SIGINT; then finishes what it has\n"
    "accepted and ends with 0. A second signal ends it at once.\n"
    "\n"
    "  -c, --config FILE     configuration (default: ./weft.yaml, else the files of ./models)\n"
    "      --host ADDRESS    address to listen on (default 127.0.0.1)\n"
    "  -p, --port N          port; 0 takes a free one and prints it (default 8000)\n"
    "      --grpc-port N     port for gRPC; 0 takes a free one and prints it, -1 means no gRPC (default 8001)\n"
    "      --log-dir DIR     folder for log files: the process log and one log for each model\n"
    "      --json            print the start message as JSON\n"
    "\n"
    "then:\n"
    "  curl --data-binary @photo.jpg http://127.0.0.1:8000/v1/models/face/predict\n";

static const char help_inspect[] = "usage: weft inspect FILE... [--json]\n"
                                   "\n"
                                   "Prints what a model file holds: inputs, outputs, types, shapes, opset, producer and size.\n";

static const char help_config[] =
    "usage: weft config check FILE [--json]    dry run: read the file, open every model, compare with the options\n"
    "       weft config print FILE             the whole configuration with every default\n"
    "       weft config reference              the manual of every option, in Markdown\n"
    "\n"
    "`check` exits with 0 when the file would serve, 3 when it would not.\n";

static const char help_new[] =
    "usage: weft new executor NAME\n"
    "\n"
    "Writes the skeleton of a new executor into a source tree: source, registration, configuration and a passing test.\n"
    "docs/howto/add-an-executor.md walks through it.\n";

static const char help_version[] = "usage: weft version [--json]\n\nPrints the version, the build and the runtimes it finds.\n";

const weft_command weft_commands[] = {
    {"serve", weft_cmd_serve, "answer requests over HTTP", help_serve},
    {"run", weft_cmd_run, "run a model on pictures or tensors", help_run},
    {"inspect", weft_cmd_inspect, "show what a model file holds", help_inspect},
    {"config", weft_cmd_config, "check, print or explain a configuration", help_config},
    {"new", weft_cmd_new, "write the skeleton of an executor", help_new},
    {"version", weft_cmd_version, "version, build and runtimes", help_version},
    {NULL, NULL, NULL, NULL},
};

const weft_command *weft_command_find(const char *name)
{
    for (const weft_command *c = weft_commands; c->name; c++)
        if (strcmp(c->name, name) == 0)
            return c;
    return NULL;
}

static void print_help(FILE *f)
{
    fprintf(f, "weft %s: many models, one process, one file to describe them\n\nusage: weft COMMAND [options]\n\n",
            weft_version());
    for (const weft_command *c = weft_commands; c->name; c++)
        fprintf(f, "  %-9s %s\n", c->name, c->summary);
    fprintf(f, "\n`weft COMMAND --help` tells more about one.\nExit codes: 0 done, 1 the work failed, 2 wrong command line, 3 "
               "wrong configuration.\n");
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return WEFT_EXIT_USAGE;
    }
    const char *name = argv[1];
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || (strcmp(name, "help") == 0 && argc == 2)) {
        print_help(stdout);
        return WEFT_EXIT_OK;
    }
    if (strcmp(name, "--version") == 0)
        name = "version";
    if (strcmp(name, "help") == 0)
        return weft_command_find(argv[2]) ? weft_cli_help(argv[2]) : weft_cli_unknown_command(argv[2]);
    const weft_command *c = weft_command_find(name);
    if (!c)
        return weft_cli_unknown_command(name);
    for (int i = 2; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return weft_cli_help(c->name);
    return c->run(argc - 1, argv + 1);
}
