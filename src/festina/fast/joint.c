/* Joint descent on students and gates, many networks at once: festina/learning/wide.py by hand.
 *
 * With E = W* - sum_p c_p W_p and G = E S (S = 1 under the expected gradient), one step is
 *
 *     W_p += (dt/tau_w) kappa c_p G,    c_p += (dt/tau_c) (kappa <W_p, G> - dR/dc_p),
 *     R = nonnegativity sum_p max(0, -c_p) + normalization (|c|_k - 1)^2.
 *
 * S is the second moment of a batch, drawn from its law as festina/worlds/wishart.py does, from the very numbers of
 * festina/draws.py, which all networks with one key have in common.
 *
 * What a network does depends neither on its place among others nor on where a call begins: a run that is cut into
 * calls, or computed alone, ends with the same bits.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__AVX512F__)
#define BYTES 64
#elif defined(__AVX__)
#define BYTES 32
#else
#define BYTES 16
#endif

#if defined(__AVX512F__)
#define IN_REGISTER(vector) __asm__("" : "+v"(vector))
#elif defined(__AVX__)
#define IN_REGISTER(vector) __asm__("" : "+x"(vector))
#else
#define IN_REGISTER(vector)
#endif

#define INLINE static inline __attribute__((always_inline))
#define FOUR _Pragma("GCC unroll 4")
#define NUMBERED 128 /* steps whose second moments are drawn together */
#define FIRST_CACHE 28000 /* bytes of state that may stay in it while it is stepped */
#define MOST_PATHS 256 /* festina/fast/native.py knows it, too */
#define FEW 48 /* coordinates up to which networks stand side by side, and not coordinates */

/* What is asked for; festina/fast/native.py has the same fields in the same order. */
typedef struct {
    int64_t runs, paths, tasks, outputs, inputs, blocks;
    int64_t first, steps; /* the number of the first step, and how many to take */
    int64_t order;        /* k of the norm |c|_k */
    int64_t batch;        /* of the second moment; 0 for the expected gradient */
    int64_t powers;       /* coefficients of each polynomial in `chi` */
    int64_t shifted;      /* steps for which there are shifts; 0 if blocks end by the clock alone */
    double step_size, loss_share, reach;
    void **students;                     /* for each path: runs x outputs x inputs, changed in place */
    void *gates;                         /* runs x paths, changed in place */
    const void *maps;                    /* sets x tasks x outputs x inputs */
    const int64_t *set_of;               /* of each run: which of the sets its teachers are */
    const double *weight_timescale, *gate_timescale, *nonnegativity, *normalization; /* of each run */
    const int64_t *ends;                 /* runs x blocks: the step before which each block ends, within a round */
    const int64_t *shown;                /* the task of each block */
    const int8_t *shifts;                /* runs x shifted */
    const uint64_t *keys;                /* of each run */
    const double *chi;                   /* powers x inputs */
} Joint;

/* The task shown in a step, and the step before which nothing changes. */
typedef struct {
    int64_t task, until;
} Stage;

static Stage stage_at(const Joint *ask, int64_t run, int64_t step) {
    const int64_t *ends = ask->ends + run * ask->blocks;
    int64_t place = step % ends[ask->blocks - 1], block = 0;
    while (block + 1 < ask->blocks && place >= ends[block]) block++;
    Stage stage = {0, step + ends[block] - place};
    if (ask->shifted) {
        const int8_t *shifts = ask->shifts + run * ask->shifted;
        int64_t last = ask->shifted - 1, here = step < last ? step : last, next = here + 1;
        while (next < stage.until && next <= last && shifts[next] == shifts[here]) next++;
        if (next <= last && next < stage.until) stage.until = next;
        block = (block + shifts[here]) % ask->blocks;
    }
    stage.task = ask->shown[block];
    return stage;
}

/* Random numbers by counting, see festina/draws.py. */
INLINE uint64_t mixed(uint64_t bits) {
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9u;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBu;
    return bits ^ (bits >> 31);
}

INLINE uint64_t hashed(uint64_t word, uint64_t number) {
    return mixed(word + 0x9E3779B97F4A7C15u * (number + 1));
}

/* log z of a positive normal number, to about a unit in the last place (Cephes). */
INLINE float logarithm(float z) {
    union { float number; int32_t bits; } split = {z};
    int32_t power = ((split.bits - 0x3F3504F3) >> 23);
    split.bits -= power << 23; /* now between sqrt(1/2) and sqrt(2) */
    float m = split.number - 1.0f, square = m * m, e = (float)power;
    float p = 7.0376836292e-2f;
    p = p * m - 1.1514610310e-1f;
    p = p * m + 1.1676998740e-1f;
    p = p * m - 1.2420140846e-1f;
    p = p * m + 1.4249322787e-1f;
    p = p * m - 1.6668057665e-1f;
    p = p * m + 2.0000714765e-1f;
    p = p * m - 2.4999993993e-1f;
    p = p * m + 3.3333331174e-1f;
    float rest = p * m * square - 2.12194440e-4f * e - 0.5f * square;
    return m + rest + 0.693359375f * e;
}

#define SOME 256 /* numbers that are drawn in one go */

/* The first `count` standard normal numbers of a key: sqrt(2) erfinv(x), in 32 bits (Giles 2012). */
static void normals(uint64_t key, int64_t count, float *out) {
    float even[SOME], squares[SOME];
    uint64_t word = mixed(key);
    for (int64_t begin = 0; begin < count; begin += SOME) {
        int64_t some = count - begin < SOME ? count - begin : SOME;
        for (int64_t k = 0; k < some; k++) {
            float high = (float)(int32_t)(hashed(word, (uint64_t)(begin + k)) >> 41);
            even[k] = 2.0f * ((high + 0.5f) * 0x1p-23f) - 1.0f;
            squares[k] = even[k] * even[k];
        }
        /* 1 - x^2 must see the rounded square, as it does elsewhere: in the tails that is what a number hangs on */
        __asm__ volatile("" : : "r"(squares) : "memory");
        for (int64_t k = 0; k < some; k++) {
            float rest = 1.0f - squares[k], lost = (1.0f - rest) - squares[k];
            float w = -(logarithm(rest) + lost / rest);
            float near = w - 2.5f, far = sqrtf(w < 5.0f ? 5.0f : w) - 3.0f;
            float p = 2.81022636e-08f, q = -0.000200214257f;
            p = 3.43273939e-07f + p * near, q = 0.000100950558f + q * far;
            p = -3.5233877e-06f + p * near, q = 0.00134934322f + q * far;
            p = -4.39150654e-06f + p * near, q = -0.00367342844f + q * far;
            p = 0.00021858087f + p * near, q = 0.00573950773f + q * far;
            p = -0.00125372503f + p * near, q = -0.0076224613f + q * far;
            p = -0.00417768164f + p * near, q = 0.00943887047f + q * far;
            p = 0.246640727f + p * near, q = 1.00167406f + q * far;
            p = 1.50140941f + p * near, q = 2.83297682f + q * far;
            out[begin + k] = 1.41421356f * ((w < 5.0f ? p : q) * even[k]);
        }
    }
}

#define REAL float
#define WHOLE int32_t
#define ROOT __builtin_sqrtf
#define NAMED(name) name##_32
#include "joint_kernels.h"
#undef REAL
#undef WHOLE
#undef ROOT
#undef NAMED

#define REAL double
#define WHOLE int64_t
#define ROOT __builtin_sqrt
#define NAMED(name) name##_64
#include "joint_kernels.h"

/* For tests: the numbers themselves. */
void festina_normals(uint64_t key, int64_t count, float *out) { normals(key, count, out); }

/* Takes the steps; 0 if all went well, 1 if there is no memory. */
int festina_joint_32(const Joint *ask) { return joint_32(ask); }
int festina_joint_64(const Joint *ask) { return joint_64(ask); }
