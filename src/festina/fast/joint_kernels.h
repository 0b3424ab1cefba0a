/* The kernels for one type of number, REAL; included once for each by joint.c. */

#define LANES ((int)(BYTES / sizeof(REAL)))
#define Vector NAMED(Vector)
#define Mask NAMED(Mask)
#define Tile NAMED(Tile)

typedef REAL Vector __attribute__((vector_size(BYTES)));
typedef WHOLE Mask __attribute__((vector_size(BYTES)));

INLINE Vector NAMED(all)(REAL value) { return value - (Vector){0}; }

/* `values` where a condition holds, and 0 elsewhere. */
INLINE Vector NAMED(where)(Mask condition, Vector values) { return (Vector)(condition & (Mask)values); }

INLINE Vector NAMED(size)(Vector values) {
    return NAMED(where)(values > 0, values) - NAMED(where)(values < 0, values);
}

INLINE Vector NAMED(root)(Vector values) {
    for (int lane = 0; lane < LANES; lane++) values[lane] = ROOT(values[lane]);
    return values;
}

/* Constants of some networks, one in each lane. */
typedef struct {
    Vector of_weights, of_gates, nonnegativity, normalization; /* kappa dt/tau_w, dt/tau_c, and twice the last */
    REAL share;
} NAMED(Rule);

static void NAMED(set_rule)(const Joint *ask, NAMED(Rule) *rule, int lane, int64_t run) {
    rule->of_weights[lane] = (REAL)(ask->step_size * ask->loss_share / ask->weight_timescale[run]);
    rule->of_gates[lane] = (REAL)(ask->step_size / ask->gate_timescale[run]);
    rule->nonnegativity[lane] = (REAL)ask->nonnegativity[run];
    rule->normalization[lane] = (REAL)(2.0 * ask->normalization[run]);
    rule->share = (REAL)ask->loss_share;
}

/* One step of the gates of LANES networks, given <W_p, G> of each. */
INLINE void NAMED(turn)(const int paths, const int order, Vector *gates, const Vector *along, const NAMED(Rule) *rule) {
    Vector norm = NAMED(all)(0), one = NAMED(all)(1);
    for (int p = 0; p < paths; p++) norm += order == 1 ? NAMED(size)(gates[p]) : gates[p] * gates[p];
    if (order == 2) norm = NAMED(root)(norm);
    Vector excess = rule->normalization * (norm - one);
    Vector length = order == 2 ? NAMED(where)(norm > 0, norm) + NAMED(where)(norm <= 0, one) : one;
    for (int p = 0; p < paths; p++) {
        Vector pull = excess * (gates[p] / length);
        if (order == 1) pull = NAMED(where)(gates[p] > 0, excess) - NAMED(where)(gates[p] < 0, excess);
        Vector bound = pull - NAMED(where)(gates[p] < 0, rule->nonnegativity);
        gates[p] += rule->of_gates * (rule->share * along[p] - bound);
    }
}

INLINE REAL *NAMED(student)(const Joint *ask, int64_t path, int64_t run) {
    return (REAL *)ask->students[path] + run * ask->outputs * ask->inputs;
}

INLINE const REAL *NAMED(teacher)(const Joint *ask, int64_t run, int64_t task) {
    return (const REAL *)ask->maps + (ask->set_of[run] * ask->tasks + task) * ask->outputs * ask->inputs;
}

static void *NAMED(room)(int64_t vectors) {
    void *memory = NULL;
    return posix_memalign(&memory, BYTES, (size_t)(vectors > 0 ? vectors : 1) * BYTES) ? NULL : memory;
}

static void *NAMED(zeros)(int64_t vectors) {
    void *memory = NAMED(room)(vectors);
    return memory ? memset(memory, 0, (size_t)vectors * BYTES) : NULL;
}

/* Under the expected gradient, with few coordinates: networks side by side, one in each lane.
 *
 * Each of two vectors of networks takes all steps up to the next change of a task; what the two do is independent, so
 * that one computes while the other waits for its results.
 */
#define ABREAST 2

INLINE void NAMED(side_by_side)(const int paths, const int size, const int order, int64_t steps, Vector *restrict students,
                                const Vector *restrict target, Vector *restrict gates, const NAMED(Rule) *rules) {
    for (int64_t step = 0; step < steps; step++)
        for (int v = 0; v < ABREAST; v++) {
            Vector along[MOST_PATHS], speed[MOST_PATHS], *now = gates + v * paths;
            for (int p = 0; p < paths; p++) along[p] = NAMED(all)(0), speed[p] = rules[v].of_weights * now[p];
            for (int k = 0; k < size; k++) {
                Vector error = target[v * size + k], *here = students + (v * size + k) * paths;
                for (int p = 0; p < paths; p++) error -= now[p] * here[p];
                for (int p = 0; p < paths; p++) along[p] += here[p] * error, here[p] += speed[p] * error;
            }
            NAMED(turn)(paths, order, now, along, rules + v);
        }
}

/* The same with everything in registers, as far as there are any. */
#define IN_REGISTERS(P, K)                                                                                              \
    static __attribute__((noinline)) void NAMED(registers_##P##_##K)(                                                   \
        int order, int64_t steps, Vector *students, const Vector *target, Vector *gates, const NAMED(Rule) *given) {    \
        Vector w[ABREAST * K * P], t[ABREAST * K], c[ABREAST * P];                                                      \
        NAMED(Rule) rules[ABREAST] = {given[0], given[1]};                                                              \
        _Pragma("GCC unroll 64") for (int k = 0; k < ABREAST * K * P; k++) w[k] = students[k];                          \
        _Pragma("GCC unroll 64") for (int k = 0; k < ABREAST * K; k++) t[k] = target[k];                                \
        _Pragma("GCC unroll 64") for (int k = 0; k < ABREAST * P; k++) c[k] = gates[k];                                 \
        if (order == 1)                                                                                                 \
            STEPS(P, K, 1)                                                                                              \
        else                                                                                                            \
            STEPS(P, K, 2)                                                                                              \
        _Pragma("GCC unroll 64") for (int k = 0; k < ABREAST * K * P; k++) students[k] = w[k];                          \
        _Pragma("GCC unroll 64") for (int k = 0; k < ABREAST * P; k++) gates[k] = c[k];                                 \
    }
#define STEPS(P, K, ORDER)                                                                                              \
    for (int64_t step = 0; step < steps; step++) {                                                                      \
        _Pragma("GCC unroll 2") for (int v = 0; v < ABREAST; v++) {                                                     \
            Vector along[P], speed[P];                                                                                  \
            _Pragma("GCC unroll 8") for (int p = 0; p < P; p++)                                                         \
                along[p] = NAMED(all)(0), speed[p] = rules[v].of_weights * c[v * P + p];                                \
            _Pragma("GCC unroll 16") for (int k = 0; k < K; k++) {                                                      \
                Vector error = t[v * K + k];                                                                            \
                _Pragma("GCC unroll 8") for (int p = 0; p < P; p++) error -= c[v * P + p] * w[(v * K + k) * P + p];     \
                _Pragma("GCC unroll 8") for (int p = 0; p < P; p++) {                                                   \
                    along[p] += w[(v * K + k) * P + p] * error;                                                         \
                    w[(v * K + k) * P + p] += speed[p] * error;                                                         \
                }                                                                                                       \
            }                                                                                                           \
            NAMED(turn)(P, ORDER, c + v * P, along, rules + v);                                                         \
        }                                                                                                               \
    }
IN_REGISTERS(2, 2)
IN_REGISTERS(2, 4)
IN_REGISTERS(3, 6)
#undef IN_REGISTERS
#undef STEPS

static void NAMED(some_steps)(int64_t paths, int64_t size, int order, int64_t steps, Vector *students, Vector *target,
                              Vector *gates, const NAMED(Rule) *rules) {
    if (paths == 2 && size == 2) NAMED(registers_2_2)(order, steps, students, target, gates, rules);
    else if (paths == 2 && size == 4) NAMED(registers_2_4)(order, steps, students, target, gates, rules);
    else if (paths == 3 && size == 6) NAMED(registers_3_6)(order, steps, students, target, gates, rules);
    else if (paths == 2 && order == 1)
        NAMED(side_by_side)(2, (int)size, 1, steps, students, target, gates, rules);
    else NAMED(side_by_side)((int)paths, (int)size, order, steps, students, target, gates, rules);
}

static int NAMED(few_coordinates)(const Joint *ask) {
    int64_t paths = ask->paths, size = ask->outputs * ask->inputs, wide = ABREAST * LANES;
    Vector *memory = NAMED(zeros)(ABREAST * (size * (paths + 1) + paths));
    if (!memory) return 1;
    Vector *target = memory + ABREAST * size * paths, *gates = target + ABREAST * size;
    REAL *of_gates = ask->gates;
    for (int64_t begin = 0; begin < ask->runs; begin += wide) {
        int64_t count = ask->runs - begin < wide ? ask->runs - begin : wide;
        NAMED(Rule) rules[ABREAST];
        Stage stages[ABREAST * LANES];
        for (int64_t place = 0; place < wide; place++) { /* the last is repeated, to fill all lanes */
            int64_t run = begin + (place < count ? place : count - 1), v = place / LANES, lane = place % LANES;
            NAMED(set_rule)(ask, rules + v, (int)lane, run);
            stages[place].until = ask->first;
            for (int64_t p = 0; p < paths; p++) {
                gates[v * paths + p][lane] = of_gates[run * paths + p];
                for (int64_t k = 0; k < size; k++)
                    memory[(v * size + k) * paths + p][lane] = NAMED(student)(ask, p, run)[k];
            }
        }
        for (int64_t step = ask->first, last = ask->first + ask->steps; step < last;) {
            int64_t until = last;
            for (int64_t place = 0; place < wide; place++) {
                int64_t run = begin + (place < count ? place : count - 1);
                if (stages[place].until == step) {
                    stages[place] = stage_at(ask, run, step);
                    const REAL *teacher = NAMED(teacher)(ask, run, stages[place].task);
                    for (int64_t k = 0; k < size; k++)
                        target[place / LANES * size + k][place % LANES] = teacher[k];
                }
                if (stages[place].until < until) until = stages[place].until;
            }
            NAMED(some_steps)(paths, size, (int)ask->order, until - step, memory, target, gates, rules);
            step = until;
        }
        for (int64_t place = 0; place < count; place++) {
            int64_t run = begin + place, v = place / LANES, lane = place % LANES;
            for (int64_t p = 0; p < paths; p++) {
                of_gates[run * paths + p] = gates[v * paths + p][lane];
                for (int64_t k = 0; k < size; k++)
                    NAMED(student)(ask, p, run)[k] = memory[(v * size + k) * paths + p][lane];
            }
        }
    }
    free(memory);
    return 0;
}

/* Under the expected gradient, with many coordinates: these in lanes, some networks in turn.
 *
 * While the gates of one network are updated, which is a chain of operations, the next is under way.
 */
#define IN_TURN 4

INLINE REAL NAMED(total)(Vector vector) {
    REAL half[LANES];
    for (int lane = 0; lane < LANES; lane++) half[lane] = vector[lane];
    for (int width = LANES / 2; width > 0; width /= 2)
        for (int lane = 0; lane < width; lane++) half[lane] += half[lane + width];
    return half[0];
}

INLINE void NAMED(one_step)(const int paths, const int order, int64_t vectors, Vector *restrict students,
                            const Vector *restrict target, Vector *gates, const NAMED(Rule) *rule) {
    Vector along[MOST_PATHS], speed[MOST_PATHS];
    for (int p = 0; p < paths; p++) along[p] = NAMED(all)(0), speed[p] = rule->of_weights * gates[p];
    for (int64_t k = 0; k < vectors; k++) {
        Vector error = target[k], *here = students + k * paths;
        for (int p = 0; p < paths; p++) error -= gates[p] * here[p];
        for (int p = 0; p < paths; p++) along[p] += here[p] * error, here[p] += speed[p] * error;
    }
    for (int p = 0; p < paths; p++) along[p] = NAMED(all)(NAMED(total)(along[p]));
    NAMED(turn)(paths, order, gates, along, rule);
}

static int NAMED(many_coordinates)(const Joint *ask) {
    int64_t paths = ask->paths, size = ask->outputs * ask->inputs, vectors = (size + LANES - 1) / LANES;
    int64_t each = vectors * (paths + 1) + paths;
    Vector *memory = NAMED(zeros)(IN_TURN * each);
    if (!memory) return 1;
    REAL *of_gates = ask->gates;
    for (int64_t begin = 0; begin < ask->runs; begin += IN_TURN) {
        int64_t count = ask->runs - begin < IN_TURN ? ask->runs - begin : IN_TURN;
        NAMED(Rule) rules[IN_TURN];
        Stage stages[IN_TURN];
        for (int64_t n = 0; n < count; n++) {
            Vector *students = memory + n * each, *gates = students + vectors * (paths + 1);
            for (int lane = 0; lane < LANES; lane++) NAMED(set_rule)(ask, rules + n, lane, begin + n);
            stages[n].until = ask->first;
            for (int64_t p = 0; p < paths; p++) {
                gates[p] = NAMED(all)(of_gates[(begin + n) * paths + p]);
                for (int64_t k = 0; k < size; k++)
                    students[k / LANES * paths + p][k % LANES] = NAMED(student)(ask, p, begin + n)[k];
            }
        }
        for (int64_t step = ask->first; step < ask->first + ask->steps; step++)
            for (int64_t n = 0; n < count; n++) {
                Vector *students = memory + n * each, *target = students + vectors * paths, *gates = target + vectors;
                if (stages[n].until == step) {
                    stages[n] = stage_at(ask, begin + n, step);
                    memcpy(target, NAMED(teacher)(ask, begin + n, stages[n].task), (size_t)size * sizeof(REAL));
                }
                if (paths == 2 && ask->order == 1)
                    NAMED(one_step)(2, 1, vectors, students, target, gates, rules + n);
                else NAMED(one_step)((int)paths, (int)ask->order, vectors, students, target, gates, rules + n);
            }
        for (int64_t n = 0; n < count; n++) {
            Vector *students = memory + n * each, *gates = students + vectors * (paths + 1);
            for (int64_t p = 0; p < paths; p++) {
                of_gates[(begin + n) * paths + p] = gates[p][0];
                for (int64_t k = 0; k < size; k++)
                    NAMED(student)(ask, p, begin + n)[k] = students[k / LANES * paths + p][k % LANES];
            }
        }
    }
    free(memory);
    return 0;
}

/* With second moments: a vector holds some rows of some networks, of which it has `abreast`, a power of two.
 *
 * Column r * abreast + n of a tile is row r of network n, for each of the inputs. The product with S runs over four
 * inputs and some vectors of columns at a time, whose sums stay in registers.
 */
typedef struct {
    int64_t begin, abreast, columns; /* the first network, how many, and vectors of columns for each input */
    int64_t until;                   /* the step before which all see the same tasks */
    Vector *students, *target, *error, *gates, *along;
    NAMED(Rule) rule;
    Stage stages[LANES];
} Tile;

/* S = L L'/B for some steps, with L's diagonal chi-distributed and normal numbers below it; rows of `wide` vectors. */
static void NAMED(second_moments)(const Joint *ask, uint64_t key, int64_t first, int64_t steps, int64_t wide,
                                  float *drawn, REAL *chi, Vector *factor, Vector *moments) {
    int64_t inputs = ask->inputs;
    uint64_t word = mixed(key);
    for (int64_t step = 0; step < steps; step++) {
        normals(hashed(word, (uint64_t)(first + step)), inputs * (inputs + 1) / 2, drawn);
        for (int64_t k = 0; k < inputs; k++) chi[k] = 0;
        for (int64_t power = ask->powers - 1; power >= 0; power--)
            for (int64_t k = 0; k < inputs; k++)
                chi[k] = chi[k] * ((REAL)drawn[k] / (REAL)ask->reach) + (REAL)ask->chi[power * inputs + k];
        const float *next = drawn + inputs;
        for (int64_t row = 0; row < inputs; row++) { /* of L; `factor` is L', and 0 where L has no entries */
            REAL *column = (REAL *)factor + row;
            for (int64_t k = 0; k < row; k++) column[k * wide * LANES] = (REAL)*next++;
            column[row * wide * LANES] = chi[row];
        }
        for (int64_t row = 0; row < inputs; row++, moments += wide)
            for (int64_t v = 0; v < wide; v++) {
                const Vector *others = factor + v;
                Vector sums = NAMED(all)(0);
                for (int64_t k = 0; k <= row; k++) sums += ((REAL *)factor)[k * wide * LANES + row] * others[k * wide];
                moments[v] = sums / NAMED(all)((REAL)ask->batch);
            }
    }
}

/* Four rows of S E and what they do to the students, for `wide` vectors of columns. */
INLINE void NAMED(four_inputs)(const int paths, const int wide, int64_t inputs, int64_t columns, int64_t padded,
                               int64_t at, const REAL *restrict weights, const Vector *restrict error,
                               const Vector *speed, Vector *restrict students, Vector *restrict along) {
    Vector sums[4][4];
    FOUR for (int r = 0; r < 4; r++) FOUR for (int v = 0; v < wide; v++) sums[r][v] = NAMED(all)(0);
    for (int64_t k = 0; k < inputs; k++, error += wide) {
        Vector first = error[0], second = error[1 % wide], third = error[2 % wide], fourth = error[3 % wide];
        IN_REGISTER(first); /* and not read from memory again for each of the four */
        if (wide > 1) IN_REGISTER(second);
        if (wide > 2) IN_REGISTER(third);
        if (wide > 3) IN_REGISTER(fourth);
        FOUR for (int r = 0; r < 4; r++) {
            Vector weight = NAMED(all)(weights[k * padded + at + r]); /* S is symmetric */
            sums[r][0] += weight * first;
            if (wide > 1) sums[r][1] += weight * second;
            if (wide > 2) sums[r][2] += weight * third;
            if (wide > 3) sums[r][3] += weight * fourth;
        }
    }
    for (int p = 0; p < paths; p++) {
        Vector total[4], *restrict own = students + (p * inputs + at) * columns;
        FOUR for (int v = 0; v < wide; v++) total[v] = along[p * columns + v];
        FOUR for (int r = 0; r < 4; r++) {
            if (at + r < inputs)
                FOUR for (int v = 0; v < wide; v++) {
                    total[v] += own[r * columns + v] * sums[r][v];
                    own[r * columns + v] += speed[p] * sums[r][v];
                }
        }
        FOUR for (int v = 0; v < wide; v++) along[p * columns + v] = total[v];
    }
}

/* S E and what it does to the students, for `wide` vectors of columns. */
INLINE void NAMED(some_columns)(const int paths, const int wide, const Tile *tile, int64_t inputs, int64_t padded,
                                const REAL *moment, int64_t from, const Vector *speed) {
    const int64_t columns = tile->columns;
    const Vector *restrict target = tile->target + from, *gates = tile->gates;
    Vector *restrict students = tile->students + from, *restrict error = tile->error;
    for (int64_t k = 0; k < inputs; k++)
        FOUR for (int v = 0; v < wide; v++) {
            Vector rest = target[k * columns + v];
            for (int p = 0; p < paths; p++) rest -= gates[p] * students[(p * inputs + k) * columns + v];
            error[k * wide + v] = rest;
        }
    for (int64_t at = 0; at < inputs; at += 4)
        NAMED(four_inputs)(paths, wide, inputs, columns, padded, at, moment, error, speed, students, tile->along + from);
}

/* The sums over rows of each network, row after row, whatever vector they are in; for all lanes. */
INLINE Vector NAMED(over_rows)(const int abreast, int64_t outputs, const REAL *parts) {
    REAL sums[LANES] = {0};
    Vector all;
    for (int64_t row = 0; row < outputs; row++)
        for (int n = 0; n < abreast; n++) sums[n] += parts[row * abreast + n];
    for (int lane = 0; lane < LANES; lane++) all[lane] = sums[lane & (abreast - 1)];
    return all;
}

INLINE void NAMED(tile_step)(const int paths, const int order, Tile *tile, int64_t outputs, int64_t inputs,
                             int64_t padded, const REAL *moment) {
    int64_t columns = tile->columns;
    Vector speed[MOST_PATHS], along[MOST_PATHS];
    for (int p = 0; p < paths; p++) speed[p] = tile->rule.of_weights * tile->gates[p];
    for (int64_t k = 0; k < paths * columns; k++) tile->along[k] = NAMED(all)(0);
    for (int64_t from = 0, left = columns, wide; left > 0; from += wide, left -= wide) {
        wide = left <= 4 ? left : left == 5 || left == 6 ? 3 : 4;
        if (wide == 4) NAMED(some_columns)(paths, 4, tile, inputs, padded, moment, from, speed);
        else if (wide == 3) NAMED(some_columns)(paths, 3, tile, inputs, padded, moment, from, speed);
        else if (wide == 2) NAMED(some_columns)(paths, 2, tile, inputs, padded, moment, from, speed);
        else NAMED(some_columns)(paths, 1, tile, inputs, padded, moment, from, speed);
    }
    for (int p = 0; p < paths; p++) {
        const REAL *parts = (const REAL *)(tile->along + p * columns);
        if (tile->abreast == 16) along[p] = NAMED(over_rows)(LANES < 16 ? LANES : 16, outputs, parts);
        else if (tile->abreast == 8) along[p] = NAMED(over_rows)(LANES < 8 ? LANES : 8, outputs, parts);
        else if (tile->abreast == 4) along[p] = NAMED(over_rows)(LANES < 4 ? LANES : 4, outputs, parts);
        else if (tile->abreast == 2) along[p] = NAMED(over_rows)(2, outputs, parts);
        else along[p] = NAMED(over_rows)(1, outputs, parts);
    }
    NAMED(turn)(paths, order, tile->gates, along, &tile->rule);
}

static void NAMED(show)(const Joint *ask, Tile *tile, int64_t n, int64_t step) {
    tile->stages[n] = stage_at(ask, tile->begin + n, step);
    const REAL *teacher = NAMED(teacher)(ask, tile->begin + n, tile->stages[n].task);
    REAL *target = (REAL *)tile->target + n;
    for (int64_t row = 0; row < ask->outputs; row++)
        for (int64_t k = 0; k < ask->inputs; k++)
            target[k * tile->columns * LANES + row * tile->abreast] = teacher[row * ask->inputs + k];
}

/* Networks in, or out of, a tile; what is contiguous inside comes last. */
static void NAMED(carry)(const Joint *ask, Tile *tile, int out) {
    int64_t paths = ask->paths, inputs = ask->inputs, size = ask->outputs * inputs, abreast = tile->abreast;
    for (int64_t p = 0; p < paths; p++) {
        REAL *outside = NAMED(student)(ask, p, tile->begin), *gates = (REAL *)ask->gates + tile->begin * paths + p;
        for (int64_t row = 0; row < ask->outputs; row++)
            for (int64_t k = 0; k < inputs; k++) {
                REAL *inside = (REAL *)(tile->students + (p * inputs + k) * tile->columns) + row * abreast;
                REAL *here = outside + row * inputs + k;
                if (out)
                    for (int64_t n = 0; n < abreast; n++) here[n * size] = inside[n];
                else
                    for (int64_t n = 0; n < abreast; n++) inside[n] = here[n * size];
            }
        for (int lane = 0; lane < LANES; lane++) {
            REAL *gate = gates + (lane & (abreast - 1)) * paths;
            if (out) *gate = tile->gates[p][lane];
            else tile->gates[p][lane] = *gate;
        }
    }
    if (out) return;
    for (int lane = 0; lane < LANES; lane++)
        NAMED(set_rule)(ask, &tile->rule, lane, tile->begin + (lane & (abreast - 1)));
    for (int64_t n = 0; n < abreast; n++) NAMED(show)(ask, tile, n, ask->first);
}

/* As many networks as stay in the first cache, and no more than there are. */
static int64_t NAMED(abreast)(const Joint *ask, int64_t left) {
    int64_t bytes = (ask->paths + 2) * ask->outputs * ask->inputs * (int64_t)sizeof(REAL), count = LANES;
    while (count > 1 && (count > left || count * bytes > FIRST_CACHE)) count /= 2;
    return count;
}

static __attribute__((noinline)) void NAMED(tile_steps)(const Joint *ask, Tile *tile, int64_t first, int64_t steps,
                                                        int64_t padded, const REAL *moments) {
    for (int64_t step = 0; step < steps; step++, moments += ask->inputs * padded) {
        if (first + step >= tile->until) {
            tile->until = INT64_MAX;
            for (int64_t n = 0; n < tile->abreast; n++) {
                if (tile->stages[n].until == first + step) NAMED(show)(ask, tile, n, first + step);
                if (tile->stages[n].until < tile->until) tile->until = tile->stages[n].until;
            }
        }
        if (ask->paths == 2 && ask->order == 1)
            NAMED(tile_step)(2, 1, tile, ask->outputs, ask->inputs, padded, moments);
        else NAMED(tile_step)((int)ask->paths, (int)ask->order, tile, ask->outputs, ask->inputs, padded, moments);
    }
}

/* Memory for one stream of data at a time. */
typedef struct {
    Tile *tiles;
    Vector *states, *error, *factor, *moments;
    REAL *chi;
    float *drawn;
} NAMED(Room);

/* Vectors that tiles of so many networks need at most. */
static int64_t NAMED(needed)(const Joint *ask, int64_t networks) {
    int64_t columns = (ask->outputs + LANES - 1) / LANES;
    return networks * ((ask->paths + 1) * ask->inputs * columns + ask->paths * (columns + 1));
}

/* Networks `begin` to `end`, which see the same data. */
static void NAMED(one_stream)(const Joint *ask, int64_t begin, int64_t end, NAMED(Room) *room) {
    int64_t inputs = ask->inputs, wide = (inputs + LANES - 1) / LANES, tiles = 0;
    Vector *next = room->states;
    for (int64_t run = begin; run < end; run += room->tiles[tiles++].abreast) {
        Tile *tile = room->tiles + tiles;
        int64_t abreast = NAMED(abreast)(ask, end - run), columns = (ask->outputs * abreast + LANES - 1) / LANES;
        memset(tile, 0, sizeof(Tile));
        tile->begin = run, tile->abreast = abreast, tile->columns = columns, tile->error = room->error;
        tile->students = next;
        tile->target = tile->students + ask->paths * inputs * columns;
        tile->along = tile->target + inputs * columns;
        tile->gates = tile->along + ask->paths * columns;
        next = tile->gates + ask->paths;
        memset(tile->students, 0, (size_t)(next - tile->students) * BYTES); /* also where there are no columns */
        NAMED(carry)(ask, tile, 0);
    }
    for (int64_t done = 0; done < ask->steps; done += NUMBERED) {
        int64_t steps = ask->steps - done < NUMBERED ? ask->steps - done : NUMBERED, first = ask->first + done;
        NAMED(second_moments)(ask, ask->keys[begin], first, steps, wide, room->drawn, room->chi, room->factor,
                              room->moments);
        for (int64_t k = 0; k < tiles; k++)
            NAMED(tile_steps)(ask, room->tiles + k, first, steps, wide * LANES, (const REAL *)room->moments);
    }
    for (int64_t k = 0; k < tiles; k++) NAMED(carry)(ask, room->tiles + k, 1);
}

static int NAMED(streams)(const Joint *ask) {
    int64_t most = 0, inputs = ask->inputs, wide = (inputs + LANES - 1) / LANES;
    for (int64_t begin = 0, end; begin < ask->runs; begin = end) {
        for (end = begin + 1; end < ask->runs && ask->keys[end] == ask->keys[begin];) end++;
        if (end - begin > most) most = end - begin;
    }
    NAMED(Room) room = {
        NAMED(room)(most * (int64_t)(sizeof(Tile) / BYTES)),
        NAMED(room)(NAMED(needed)(ask, most)),
        NAMED(room)(4 * inputs),
        NAMED(room)(inputs * wide),
        NAMED(room)(inputs * wide * NUMBERED + 4), /* four numbers of a row are read at a time, also at its end */
        NAMED(room)(wide),
        NAMED(room)(inputs * (inputs + 1) / 2 * (int64_t)sizeof(float) / BYTES + 1),
    };
    int failed = !room.tiles || !room.states || !room.error || !room.factor || !room.moments || !room.chi || !room.drawn;
    if (!failed) memset(room.factor, 0, (size_t)(inputs * wide) * BYTES);
    for (int64_t begin = 0, end; !failed && begin < ask->runs; begin = end) {
        for (end = begin + 1; end < ask->runs && ask->keys[end] == ask->keys[begin];) end++;
        NAMED(one_stream)(ask, begin, end, &room);
    }
    free(room.tiles), free(room.states), free(room.error), free(room.factor), free(room.moments);
    free(room.chi), free(room.drawn);
    return failed;
}

static int NAMED(joint)(const Joint *ask) {
    if (ask->batch) return NAMED(streams)(ask);
    return ask->outputs * ask->inputs <= FEW ? NAMED(few_coordinates)(ask) : NAMED(many_coordinates)(ask);
}

#undef LANES
#undef Vector
#undef Mask
#undef Tile
#undef ABREAST
#undef IN_TURN
