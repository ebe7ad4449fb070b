#ifndef SAMPLE_H
#define SAMPLE_H
#ifdef __cplusplus
extern "C" {
#endif
int outside(int a);
extern int elsewhere;
typedef struct opaque opaque;
static inline int twice(int a) { return a * 2; }
char *const *lookup(const char *name);
#ifdef __cplusplus
}
#endif
#endif
