/* The smallest tool that stays running: describes itself, runs once, or answers one request per line. */
#include <stdio.h>
#include <string.h>

static const char description[] =
    "{\"name\": \"tiny_server\", \"description\": \"Answer hello.\", \"input_schema\": {\"type\": \"object\","
    " \"properties\": {\"name\": {\"type\": \"string\"}}, \"required\": [\"name\"]}}\n";
static const char before[] = "\"id\":\"";

int main(int argc, char **argv) {
    char line[4096];
    const char *verb = argc == 2 ? argv[1] : "";
    if (strcmp(verb, "description") == 0)
        return fputs(description, stdout) < 0;
    if (strcmp(verb, "config") == 0)
        return puts("{\"serve\": true}") < 0;
    if (strcmp(verb, "serve") != 0) {
        while (fgets(line, sizeof line, stdin)) {
        }
        return puts("hello") < 0;
    }
    setlinebuf(stdout);
    puts("{\"serve\": 1}");
    while (fgets(line, sizeof line, stdin)) {
        const char *id = strstr(line, before);
        if (!id)
            return 1;
        id += sizeof before - 1;
        printf("{\"id\":\"%.*s\",\"output\":\"hello\\n\"}\n", (int)strcspn(id, "\""), id);
    }
    return 0;
}
