/* The smallest tool there is: describes itself, or reads its input to the end and answers. */
#include <string.h>
#include <unistd.h>

static const char description[] =
    "{\"name\": \"tiny\", \"description\": \"Answer hello.\", \"input_schema\": {\"type\": \"object\","
    " \"properties\": {\"name\": {\"type\": \"string\"}}, \"required\": [\"name\"]}}\n";
static const char answer[] = "hello\n";

int main(int argc, char **argv) {
    char buffer[4096];
    if (argc == 2 && strcmp(argv[1], "description") == 0)
        return write(1, description, sizeof description - 1) < 0;
    while (read(0, buffer, sizeof buffer) > 0) {
    }
    return write(1, answer, sizeof answer - 1) < 0;
}
