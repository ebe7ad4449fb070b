/* A tool that sleeps 50 ms and answers. */
#include <string.h>
#include <unistd.h>

static const char description[] =
    "{\"name\": \"nap\", \"description\": \"Sleep 50 ms.\", \"input_schema\": {\"type\": \"object\"}}\n";
static const char answer[] = "rested\n";

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "description") == 0)
        return write(1, description, sizeof description - 1) < 0;
    usleep(50 * 1000);
    return write(1, answer, sizeof answer - 1) < 0;
}
