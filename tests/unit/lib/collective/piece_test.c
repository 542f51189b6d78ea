/* SPDX-License-Identifier: Apache-2.0 */
/* How large the pieces are that ranks exchange. */
#include "lib/collective/piece.h"
#include "tests/support/unit.h"

enum { KIB = 1024, MIB = 1024 * KIB };

static const struct {
    const char *name;
    struct piece_case what;
    size_t piece;
} cases[] = {
    { "nothing is known", { 2, 0, 0 }, 512 * KIB },
    { "a pair that does not copy through rings", { 2, 0, 2 * MIB }, 512 * KIB },
    { "a pair, rings of 512 KiB in 2 MiB", { 2, 512 * KIB, 2 * MIB }, 128 * KIB },
    { "a pair, rings of 1 MiB in 4 MiB", { 2, 1 * MIB, 4 * MIB }, 256 * KIB },
    { "a pair, rings of 256 KiB in 2 MiB", { 2, 256 * KIB, 2 * MIB }, 128 * KIB },
    { "a pair, small rings in a large cache", { 2, 64 * KIB, 64 * MIB }, 512 * KIB },
    { "a pair, the rings are as large as the cache", { 2, 1 * MIB, 2 * MIB }, 512 * KIB },
    { "a pair, the rings are larger than the cache", { 2, 2 * MIB, 1 * MIB }, 512 * KIB },
    { "a pair, the cache is not known", { 2, 512 * KIB, 0 }, 512 * KIB },
    { "a pair, just too little beside the rings",
      { 2, 64 * KIB, (2 * 64 + 8 * 64) * KIB - 1 },
      512 * KIB },
    { "a pair, just enough", { 2, 64 * KIB, (2 * 64 + 8 * 64) * KIB }, 64 * KIB },
    { "3 ranks", { 3, 0, 2 * MIB }, 256 * KIB },
    { "16 ranks", { 16, 64 * KIB, 2 * MIB }, 256 * KIB },
};

START_TEST(the_table_chooses_by_ranks_rings_and_cache)
{
    ck_assert_msg(piece_choose(&cases[_i].what) == cases[_i].piece, "%s: %zu bytes", cases[_i].name,
                  piece_choose(&cases[_i].what));
}
END_TEST

START_TEST(each_piece_that_can_be_chosen_has_a_code)
{
    for (size_t own_cache = 0; own_cache <= 64 * MIB; own_cache += 96 * KIB)
        for (size_t ring = 0; ring <= 2 * MIB; ring += 64 * KIB)
            for (int ranks = 2; ranks <= 3; ranks++) {
                const struct piece_case what = { ranks, ring, own_cache };
                size_t piece = piece_choose(&what);
                ck_assert_uint_eq(piece_of_code(piece_code(piece)), piece);
            }
}
END_TEST

START_TEST(no_other_code_is_a_piece)
{
    int known = 0;
    for (int code = -1; code <= 256; code++) {
        size_t piece = piece_of_code(code);
        known += piece > 0;
        ck_assert(piece == 0 || (piece >= PIECE_LEAST && piece <= PIECE_MOST));
    }
    ck_assert_int_eq(known, 5);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("piece");
    TCase *tcase = tcase_create("piece");
    suite_add_tcase(suite, tcase);
    tcase_add_loop_test(tcase, the_table_chooses_by_ranks_rings_and_cache, 0,
                        (int)(sizeof cases / sizeof *cases));
    tcase_add_test(tcase, each_piece_that_can_be_chosen_has_a_code);
    tcase_add_test(tcase, no_other_code_is_a_piece);
    return unit_run(suite);
}
