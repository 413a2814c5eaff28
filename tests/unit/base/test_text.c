/* Tests of text: escaping, command lines, and the limits of the number formats. */
#include "rpistat/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <locale.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *text, *repaired;
    int width; /* width of the text in a UTF-8 locale: an invalid byte is one column */
} utf8[] = {
    {"", "", 0},
    {"caf\xc3\xa9 \xe2\x82\xac\xf0\x9f\x98\x80", "caf\xc3\xa9 \xe2\x82\xac\xf0\x9f\x98\x80", 8},
    {"\xe6\xbc\xa2\xe5\xad\x97", "\xe6\xbc\xa2\xe5\xad\x97", 4},
    {"e\xcc\x81t\xc3\xa9", "e\xcc\x81t\xc3\xa9", 3},
    {"\xff.", "\xef\xbf\xbd.", 2},
    {"\xe2\x82x", "\xef\xbf\xbd\xef\xbf\xbdx", 3},
    {"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd", 2},
    {"\xc3", "\xef\xbf\xbd", 1},
};

static void test_utf8(void **state)
{
    char *copy, harmless[64];

    (void)state;
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        skip();
    for (size_t i = 0; i < RPS_COUNT(utf8); i++) {
        copy = rps_text_repaired(utf8[i].text);
        assert_string_equal(copy, utf8[i].repaired);
        assert_int_equal(rps_text_width(utf8[i].text), utf8[i].width);
        free(copy);
    }
    copy = rps_text_harmless(harmless, "a\033[31m\n\xc2\x9b\xe2\x80\xae\t\xff");
    assert_string_equal(copy,
                        "a\xef\xbf\xbd[31m\n\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
    assert_int_equal(rps_text_fit("\xe6\xbc\xa2\xe5\xad\x97", 3), 3);
    assert_int_equal(rps_text_fit("e\xcc\x81t", 1), 3);
    assert_int_equal(rps_text_fit("abc", 4), 3);
    assert_int_equal(rps_text_cut("abc", 4), 3);
    assert_int_equal(rps_text_cut("abc", 3), 3);
    assert_int_equal(rps_text_cut("abc", 2), 2);
    assert_int_equal(rps_text_cut("a\xe2\x82\xac", 3), 1);
    assert_int_equal(rps_text_cut("\xe2\x82\xac", 2), 0);
    assert_int_equal(rps_text_cut("abc", 0), 0);
}

static const struct {
    const char *text, *printable;
} escapes[] = {
    {"", ""},
    {"plain text, 100 %", "plain text, 100 %"},
    {"a\nb\tc", "a\\nb\\tc"},
    {"\033[31mred\a\r", "\\x1b[31mred\\x07\\x0d"},
    {"\x7f", "\\x7f"},
    {"caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80", "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"},
    {"\xc2\x9b"
     "31m",
     "\\xc2\\x9b31m"},                            /* CSI as a single C1 character */
    {"\xc2\xa0", "\xc2\xa0"},                     /* the first character after C1 */
    {"\xff\xfe", "\\xff\\xfe"},                   /* bytes that never occur in UTF-8 */
    {"\x80", "\\x80"},                            /* a continuation byte alone */
    {"\xc3", "\\xc3"},                            /* cut off at the end */
    {"\xe2\x82x", "\\xe2\\x82x"},                 /* cut off in the middle */
    {"\xc0\xaf", "\\xc0\\xaf"},                   /* overlong */
    {"\xe0\x80\xaf", "\\xe0\\x80\\xaf"},          /* overlong */
    {"\xed\xa0\x80", "\\xed\\xa0\\x80"},          /* a surrogate */
    {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"}, /* above U+10FFFF */
    {"a\xe2\x80\xae"
     "b",
     "a\\xe2\\x80\\xaeb"},                                          /* right-to-left override */
    {"\xe2\x81\xa6\xe2\x81\xa9", "\\xe2\\x81\\xa6\\xe2\\x81\\xa9"}, /* directional isolates */
    /* line and paragraph separators */
    {"\xe2\x80\xa8\xe2\x80\xa9", "\\xe2\\x80\\xa8\\xe2\\x80\\xa9"},
    /* neighbours of the separators */
    {"\xe2\x80\xa7\xe2\x80\xaf", "\xe2\x80\xa7\xe2\x80\xaf"},
    {"\xe2\x80\x8e\xe2\x80\x8f\xd8\x9c",
     "\\xe2\\x80\\x8e\\xe2\\x80\\x8f\\xd8\\x9c"},                   /* direction marks */
    {"\xef\xbf\xbe\xef\xbf\xbf", "\\xef\\xbf\\xbe\\xef\\xbf\\xbf"}, /* noncharacters */
    /* U+FFFD and the last character */
    {"\xef\xbf\xbd\xf4\x8f\xbf\xbf", "\xef\xbf\xbd\xf4\x8f\xbf\xbf"},
    {"\xe0\xa0\x80\xf0\x90\x80\x80",
     "\xe0\xa0\x80\xf0\x90\x80\x80"}, /* the first characters of three and of four bytes */
};

static void test_printable(void **state)
{
    char text[128];

    (void)state;
    for (size_t i = 0; i < RPS_COUNT(escapes); i++) {
        assert_ptr_equal(rps_text_printable(text, sizeof(text), escapes[i].text), text);
        assert_string_equal(text, escapes[i].printable);
    }
}

static void test_print(void **state)
{
    char *text = NULL;
    size_t size = 0;

    (void)state;
    for (size_t i = 0; i < RPS_COUNT(escapes); i++) {
        FILE *out = open_memstream(&text, &size);

        assert_non_null(out);
        rps_text_print(out, escapes[i].text);
        assert_int_equal(fclose(out), 0);
        assert_string_equal(text, escapes[i].printable);
        free(text);
        text = NULL;
    }
}

static void test_function(void **state)
{
    static const struct {
        const char *name, *text;
    } known[] = {
        {"main", "main"},
        {"app::Grid<double>::relax(double)", "app::Grid<double>::relax(double)"},
        {"void app::Parser::parse_a_long_line(std::istream&, bool)",
         "app::Parser::parse_a_long_line"},
        {"std::vector<int, std::allocator<int> >::push_back(int const&)",
         "std::vector<>::push_back"},
        {"__gnu_cxx::__normal_iterator<int*> std::__unguarded_partition<__gnu_cxx::Iterator<int*>, "
         "Less>(__gnu_cxx::Iterator<int*>)",
         "std::__unguarded_partition<>"},
        {"std::ostream& operator<< <char, std::char_traits<char> >(std::ostream&, char)",
         "operator<< <>"},
        {"bool long_name_of_a_company::operator<=><int, long>(Point<int> const&, Point<long>)",
         "long_name_of_a_company::operator<=><>"},
        {"operator()<__gnu_cxx::__normal_iterator<int*, std::vector<int> >, std::less<int> >",
         "operator()<>"},
        {"long_name_of_a_company::Pointer<Point>::operator-><long_name_of_a_company::Point>()",
         "long_name_of_a_company::Pointer<>::operator-><>"},
        {"long_name_of_a_company::Number::operator std::vector<long_name_of_a_company::Point>()",
         "...::operator std::vector<long_name_of_a_company::Point>"},
        {"bool some_namespace::Point::operator()(some_namespace::Point const&) const",
         "some_namespace::Point::operator()"},
        {"run(int)::{lambda(int, int)#1}::operator()(int, unsigned int) const",
         "run(int)::{lambda(int, int)#1}::operator()"},
        {"(anonymous namespace)::handle_the_request(http::request const&)",
         "(anonymous namespace)::handle_the_request"},
        {"core::slice::cmp::<impl core::cmp::PartialEq<[U]> for [T]>::eq",
         "...::<impl core::cmp::PartialEq<> for [T]>::eq"},
        {"<some_library::module::Iterator as other_library::module::IntoIterator>::into_iter",
         "<some_library::module::Iterator as other_library::module::IntoIterator>::into_iter"},
        {"long_name_of_a_company::processing_of_requests::Table<int>::insert_many(int)",
         "...::Table<>::insert_many"},
        {"long_name_of_a_company::processing_of_requests::many(int)::{lambda(long, int)#1}::_FUN",
         "...::many(int)::{lambda(long, int)#1}::_FUN"},
        {"long_name_of_a_company::processing_of_requests::long_class::operator()(int)",
         "...::long_class::operator()"},
        {"long_name_of_a_company::a_function_with_a_name_of_more_than_48_characters(int)",
         "...::a_function_with_a_name_of_more_than_48_characters"},
        {"<core::iter::Map<std::vec::IntoIter<u64>, fn(u64) -> u64> as Iterator>::fold",
         "<core::iter::Map<> as Iterator>::fold"},
        {"java.lang.Object java.util.HashMap.merge(java.lang.Object, java.lang.Object)",
         "java.util.HashMap.merge"},
        {"JS:*matrixMultiply /home/someone/project/src/matrix.js:4:24",
         "JS:*matrixMultiply /home/someone/project/src/matrix.js:4:24"},
        {"example.com/project/server.(*Connection).readRequestAndBody",
         "example.com/project/server.(*Connection).readRequestAndBody"},
        {"route.constprop.0", "route"},
        {"f.part.0.isra.12", "f"},
        {"main.cold", "main"},
        {"g.isra.3", "g"},
        {"h.lto_priv.0.cold", "h"},
        {"hit(vec, vec, float&) [clone .isra.0]", "hit(vec, vec, float&)"},
        {"parse(int) [clone .part.0] [clone .cold]", "parse(int)"},
        {"std::vector<int>::many(int) [clone .constprop.0]", "std::vector<int>::many(int)"},
        {"long_name_of_a_company::processing_of_requests::Table<int>::many(int) [clone .isra.0]",
         "...::processing_of_requests::Table<>::many"},
        {"sum.llvm.1234567", "sum"},
        {"main.cold.1", "main"},
        {"f.part", "f.part"},
        {"company.parts", "company.parts"},
        {"an_operator_of_many_words<with<no>end, and_nothing_else_behind_it",
         "an_operator_of_many_words<>"},
    };
    char text[128];

    (void)state;
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        assert_string_equal(rps_text_function(text, sizeof(text), known[i].name), known[i].text);
    assert_string_equal(rps_text_function(text, 16, "std::vector<int>::push_back"),
                        "...::push_back");
    assert_string_equal(rps_text_function(text, 12, "push_back_again"), "push_bac...");
    assert_string_equal(rps_text_function(text, 12, ""), "");
    assert_string_equal(rps_text_function(text, 8, "abc\xe2\x82\xac\xe2\x82\xac"), "abc...");
    assert_string_equal(rps_text_function(text, 10, "abc\xe2\x82\xac\xe2\x82\xac"),
                        "abc\xe2\x82\xac\xe2\x82\xac");
}

static void test_cut_at_whole_characters(void **state)
{
    char text[8];

    (void)state;
    memset(text, 'X', sizeof(text));
    assert_string_equal(rps_text_printable(text, 5, "abcd"), "abcd");
    assert_int_equal(text[5], 'X');
    assert_string_equal(rps_text_printable(text, 5, "abcde"), "abcd");
    assert_string_equal(rps_text_printable(text, 5, "abc\xc3\xa9z"), "abc");
    assert_string_equal(rps_text_printable(text, 5, "a\033z"), "a");
    /* nothing is printed after the cut, even if it would fit */
    assert_string_equal(rps_text_printable(text, 5, "abc\nz"), "abc");
    assert_string_equal(rps_text_printable(text, 1, "abc"), "");
    text[0] = 'X';
    rps_text_printable(text, 0, "abc");
    assert_int_equal(text[0], 'X');
}

static void test_command(void **state)
{
    static const struct {
        const char *argv[4];
        const char *text;
    } commands[] = {
        {{"./naive"}, "./naive"},
        {{"ls", "-l", "a b"}, "ls -l 'a b'"},
        {{"echo", ""}, "echo ''"},
        {{"echo", "it's"}, "echo 'it'\\''s'"},
        {{"dd", "if=/dev/zero", "of=x"}, "dd if=/dev/zero of=x"},
        {{"A=b", "x"}, "'A=b' x"},
        {{"sh", "-c", "a; b $x"}, "sh -c 'a; b $x'"},
        {{"echo", "*", "~"}, "echo '*' '~'"},
        {{"x", "\033[2J"}, "x '\\x1b[2J'"},
        {{"caf\xc3\xa9"}, "caf\xc3\xa9"},
    };
    char text[64];

    (void)state;
    for (size_t i = 0; i < RPS_COUNT(commands); i++) {
        char *argv[5] = {NULL};
        int argc = 0;

        for (; argc < 4 && commands[i].argv[argc]; argc++)
            argv[argc] = (char *)(uintptr_t)commands[i].argv[argc];
        assert_string_equal(rps_text_command(text, sizeof(text), argc, argv), commands[i].text);
    }
    assert_string_equal(rps_text_command(text, sizeof(text), 0, NULL), "");
}

static void test_duration(void **state)
{
    static const struct {
        int64_t ns;
        const char *text;
    } durations[] = {
        {0, "0.000 s"},
        {7, "7 ns"},
        {999, "999 ns"},
        {1500, "1.5 us"},
        {999949, "999.9 us"},
        {999950, "1.00 ms"},
        {1500000, "1.50 ms"},
        {9994999, "9.99 ms"},
        {10000000, "0.010 s"},
        {100000000, "0.100 s"},
        {9999499999, "9.999 s"},
        {9999500000, "10.0 s"},
        {16900000000, "16.9 s"},
        {59949999999, "59.9 s"},
        {59950000000, "1 min 00 s"},
        {125000000000, "2 min 05 s"},
        {3599400000000, "59 min 59 s"},
        {3599600000000, "1 h 00 min"},
        {11220000000000, "3 h 07 min"},
        {INT64_C(86399000000000), "1 d 00 h"},
        {INT64_C(187200000000000), "2 d 04 h"},
        {-100000000, "-0.100 s"},
        {INT64_MIN, "-106752 d 00 h"},
        {INT64_MAX, "106752 d 00 h"},
    };
    char text[RPS_TEXT_NUMBER_SIZE];

    (void)state;
    for (size_t i = 0; i < RPS_COUNT(durations); i++)
        assert_string_equal(rps_text_duration(text, sizeof(text), durations[i].ns),
                            durations[i].text);
    assert_string_equal(rps_text_duration(text, 4, 16900000000), "16.");
    assert_string_equal(rps_text_stretch(text, sizeof(text), 99000000), "0.099 s");
    assert_string_equal(rps_text_stretch(text, sizeof(text), 704000000), "0.70 s");
    assert_string_equal(rps_text_stretch(text, sizeof(text), 999000000), "1.0 s");
    assert_string_equal(rps_text_stretch(text, sizeof(text), 3800000000), "3.8 s");
    assert_string_equal(rps_text_stretch(text, sizeof(text), 9960000000), "10.0 s");
    assert_string_equal(rps_text_stretch(text, sizeof(text), 14600000000), "14.6 s");
}

static void test_clock(void **state)
{
    char text[RPS_TEXT_NUMBER_SIZE];

    (void)state;
    assert_string_equal(rps_text_clock(text, sizeof(text), 0, 0), "00:00:00");
    assert_string_equal(rps_text_clock(text, sizeof(text), 3723456000000, 0), "01:02:03");
    assert_string_equal(rps_text_clock(text, sizeof(text), 3723456000000, 1), "01:02:03.5");
    assert_string_equal(rps_text_clock(text, sizeof(text), 3723456000000, 3), "01:02:03.456");
    assert_string_equal(rps_text_clock(text, sizeof(text), 59999999999, 3), "00:01:00.000");
    assert_string_equal(rps_text_clock(text, sizeof(text), 59999999999, 9), "00:00:59.999999999");
    assert_string_equal(rps_text_clock(text, sizeof(text), 59999999999, 99), "00:00:59.999999999");
    assert_string_equal(rps_text_clock(text, sizeof(text), 360000000000000, 0), "100:00:00");
    assert_string_equal(rps_text_clock(text, sizeof(text), -1500000000, 1), "-00:00:01.5");
}

static void test_size(void **state)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } sizes[] = {
        {0, "0 B"},
        {1023, "1023 B"},
        {1024, "1.0 KiB"},
        {1536, "1.5 KiB"},
        {1048575, "1.0 MiB"},
        {1468006, "1.4 MiB"},
        {UINT64_C(3) << 30, "3.0 GiB"},
        {UINT64_C(1) << 50, "1.0 PiB"},
        {UINT64_MAX, "16.0 EiB"},
    };
    char text[RPS_TEXT_NUMBER_SIZE];

    (void)state;
    for (size_t i = 0; i < RPS_COUNT(sizes); i++)
        assert_string_equal(rps_text_size(text, sizeof(text), sizes[i].bytes), sizes[i].text);
}

static void test_numbers(void **state)
{
    static const int64_t number[] = {1, 2, 3, 7, 9, 10, INT64_MAX};
    char text[RPS_TEXT_NUMBER_SIZE];

    (void)state;
    assert_string_equal(rps_text_numbers(text, sizeof(text), number, 0), "");
    assert_string_equal(rps_text_numbers(text, sizeof(text), number, 1), "1");
    assert_string_equal(rps_text_numbers(text, sizeof(text), number + 1, 2), "2-3");
    assert_string_equal(rps_text_numbers(text, sizeof(text), number, 6), "1-3,7,9-10");
    assert_string_equal(rps_text_numbers(text, sizeof(text), number, 7),
                        "1-3,7,9-10,9223372036854775807");
    assert_string_equal(rps_text_numbers(text, 13, number, 7), "1-3,7,...");
}

static void test_utc(void **state)
{
    char text[RPS_TEXT_NUMBER_SIZE];

    (void)state;
    assert_string_equal(rps_text_utc(text, sizeof(text), 0), "1970-01-01T00:00:00.000Z");
    assert_string_equal(rps_text_utc(text, sizeof(text), 1372259553000999999),
                        "2013-06-26T15:12:33.000Z");
    assert_string_equal(rps_text_utc(text, sizeof(text), 1372259553123000000),
                        "2013-06-26T15:12:33.123Z");
    assert_string_equal(rps_text_utc(text, sizeof(text), -1), "1969-12-31T23:59:59.999Z");
    assert_string_equal(rps_text_utc(text, sizeof(text), -1000000), "1969-12-31T23:59:59.999Z");
}

static void test_number(void **state)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0, "0"},
        {-0.0, "0"},
        {1, "1"},
        {1.2345, "1.23"},
        {0.0123, "0.0123"},
        {0.0001, "0.0001"},
        {0.00002, "<0.0001"},
        {123.4, "123"},
        {999.4, "999"},
        {999.6, "1 k"},
        {8420, "8.42 k"},
        {-8420, "-8.42 k"},
        {12345, "12.3 k"},
        {999499, "999 k"},
        {999500, "1 M"},
        {2.5e9, "2.5 G"},
        {3e12, "3 T"},
        {7e15, "7 P"},
        {7e18, "7 E"},
    };
    char text[RPS_TEXT_NUMBER_SIZE];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_string_equal(rps_text_number(text, sizeof(text), cases[i].value), cases[i].text);
}

/* A unit that begins with a prefix gets no second prefix. */
static void test_number_of(void **state)
{
    static const char *const prefixed[] = {"MiB", "MiB/s", "KiB", "GB/s", "%",   "ms",
                                           "us",  "ns/op", "MHz", "kJ",   "PTI", "\302\265s"};
    static const char *const plain[] = {"",       "/s",       "s",       "B/s",    "J",      "W",
                                        "events", "messages", "threads", "people", "cycles", "k"};
    char text[RPS_TEXT_NUMBER_SIZE];

    (void)state;
    for (size_t i = 0; i < sizeof(prefixed) / sizeof(prefixed[0]); i++) {
        assert_string_equal(rps_text_number_of(text, sizeof(text), 20480, prefixed[i]), "20480");
        assert_string_equal(rps_text_number_of(text, sizeof(text), 12.34, prefixed[i]), "12.3");
    }
    for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
        assert_string_equal(rps_text_number_of(text, sizeof(text), 20480, plain[i]), "20.5 k");
}

/* Check the rounded percentages of these parts of 1. */
static void check_parts(size_t count, const double *part, const double *expected)
{
    double rounded[8];

    memcpy(rounded, part, count * sizeof(*part));
    rps_text_round_parts(rounded, count, 1, .01);
    for (size_t i = 0; i < count; i++)
        assert_float_equal(100 * rounded[i], expected[i], 1e-6);
}

/* Rounded separately, the percentages would add up to 99 or 102. */
static void test_round_parts(void **state)
{
    (void)state;
    check_parts(3, (double[]){1 / 3., 1 / 3., 1 / 3.}, (double[]){34, 33, 33});
    check_parts(4, (double[]){.2951, .2952, .2948, .1149}, (double[]){30, 30, 29, 11});
    check_parts(2, (double[]){.29, .71}, (double[]){29, 71});
    check_parts(3, (double[]){.996, .004, 0}, (double[]){100, 0, 0});
    check_parts(1, (double[]){1}, (double[]){100});
}

static void test_file_name(void **state)
{
    (void)state;
    assert_string_equal(rps_text_file_name("/usr/lib/libm.so.6"), "libm.so.6");
    assert_string_equal(rps_text_file_name("three.c"), "three.c");
    assert_string_equal(rps_text_file_name("/usr/lib/"), "/usr/lib/");
    assert_string_equal(rps_text_file_name(""), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_utf8),        cmocka_unit_test(test_printable),
        cmocka_unit_test(test_print),       cmocka_unit_test(test_cut_at_whole_characters),
        cmocka_unit_test(test_command),     cmocka_unit_test(test_function),
        cmocka_unit_test(test_duration),    cmocka_unit_test(test_clock),
        cmocka_unit_test(test_size),        cmocka_unit_test(test_utc),
        cmocka_unit_test(test_numbers),     cmocka_unit_test(test_number),
        cmocka_unit_test(test_number_of),   cmocka_unit_test(test_file_name),
        cmocka_unit_test(test_round_parts),
    };

    return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
