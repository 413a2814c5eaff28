/* A compiler of a small language: three modules are compiled (parsed to a graph, optimised, given registers, emitted),
 * linked and tested by an interpreter; then compiled again in another order with what the tests found. Fixed work. */
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "program.h"

struct tree { char kind; long value; std::string name; std::unique_ptr<tree> left, right; };
struct op { int kind, a, b; long value; };
struct unit { std::string source; std::vector<op> code; std::vector<int> reg; std::string text; };
static const char *at;
static std::unordered_map<std::string, int> global;
static volatile long sink;

static std::string write_source(int lines, int seed)
{
    std::string text;
    srand((unsigned)seed);
    for (int i = 0; i < lines; i++) {
        text += "v" + std::to_string(rand() % 400) + " = ";
        for (int terms = 2 + rand() % 6; terms; terms--)
            text += (rand() % 3 ? "v" + std::to_string(rand() % 400) : std::to_string(rand() % 50)) + (terms > 1 ? (const char *[]){" + ", " * ", " - ", " & "}[rand() % 4] : "");
        text += ";  // line " + std::to_string(i) + "\n";
    }
    return text;
}

static void skip() { while (*at == ' ' || *at == '\n' || *at == '/') { if (*at == '/') while (*at && *at != '\n') at++; else at++; } }

static std::unique_ptr<tree> expression(int rank)
{
    std::unique_ptr<tree> left;
    if (rank == 2) {
        left.reset(new tree{});
        skip();
        if (*at >= '0' && *at <= '9') left->kind = 'n', left->value = strtol(at, (char **)&at, 10);
        else { left->kind = 'v'; while ((*at >= 'a' && *at <= 'z') || (*at >= '0' && *at <= '9')) left->name += *at++; }
        skip();
        return left;
    }
    left = expression(rank + 1);
    while (*at && strchr(rank == 0 ? "+-&" : "*", *at)) {
        std::unique_ptr<tree> top(new tree{});
        top->kind = *at++;
        top->left = std::move(left);
        top->right = expression(rank + 1);
        left = std::move(top);
    }
    return left;
}

static int lower(const tree &t, unit &u, std::unordered_map<std::string, int> &names)
{
    if (t.kind == 'n') { u.code.push_back({'n', 0, 0, t.value}); return (int)u.code.size() - 1; }
    if (t.kind == 'v') {
        auto found = names.find(t.name);
        if (found != names.end()) return found->second;
        u.code.push_back({'l', 0, 0, global.emplace(t.name, (int)global.size()).first->second});
        return names[t.name] = (int)u.code.size() - 1;
    }
    int a = lower(*t.left, u, names), b = lower(*t.right, u, names);
    u.code.push_back({t.kind, a, b, 0});
    return (int)u.code.size() - 1;
}

static void parse(unit &u)
{
    std::unordered_map<std::string, int> names;
    u.code.clear();
    at = u.source.c_str();
    for (skip(); *at; skip()) {
        std::string name;
        while (*at != ' ') name += *at++;
        while (*at != '=') at++;
        at++;
        names[name] = lower(*expression(0), u, names);
        at++;
    }
}

/* Constants are folded and values numbered, until nothing changes or for some rounds; what nobody uses is removed. */
static void optimise(unit &u, int rounds)
{
    while (rounds--) {
        std::map<std::vector<long>, int> seen;
        std::vector<int> same(u.code.size());
        for (int i = 0; i < (int)u.code.size(); i++) {
            op &o = u.code[i];
            if (o.kind != 'n' && o.kind != 'l') {
                o.a = same[o.a], o.b = same[o.b];
                op &x = u.code[o.a], &y = u.code[o.b];
                if (x.kind == 'n' && y.kind == 'n')
                    o = {'n', 0, 0, (o.kind == '+' ? x.value + y.value : o.kind == '-' ? x.value - y.value : o.kind == '*' ? x.value * y.value : x.value & y.value) & 0xffff};
            }
            same[i] = seen.emplace(std::vector<long>{o.kind, o.a, o.b, o.value}, i).first->second;
        }
    }
}

/* Each value takes a register whose last use is over, or is spilled: live ranges are scanned in order. */
static void allocate(unit &u, int rounds)
{
    while (rounds--) {
        int size = (int)u.code.size();
        std::vector<int> last(size);
        for (int i = 0; i < size; i++) { last[i] = std::max(last[i], std::min(size, i + 40)); if (u.code[i].kind != 'n' && u.code[i].kind != 'l') last[u.code[i].a] = last[u.code[i].b] = i; }
        std::vector<std::pair<int, int>> busy;
        std::vector<bool> held(24);
        u.reg.assign(size, -1);
        for (int i = 0; i < size; i++) {
            for (size_t k = 0; k < busy.size();)
                if (busy[k].first <= i) held[busy[k].second] = false, busy[k] = busy.back(), busy.pop_back();
                else k++;
            int r = 0;
            while (r < 24 && held[r]) r++;
            if (r == 24) {
                auto far = std::max_element(busy.begin(), busy.end());
                r = far->second;
                *far = busy.back();
                busy.pop_back();
            }
            held[r] = true;
            busy.push_back({last[i], r});
            u.reg[i] = r;
        }
    }
}

static void emit(unit &u, int times)
{
    for (int t = 0; t < times; t++) {
        u.text.clear();
        for (int i = 0; i < (int)u.code.size(); i++) {
            char line[80];
            op &o = u.code[i];
            if (o.kind == 'n') snprintf(line, sizeof(line), "\tmov\tr%d, #%ld\n", u.reg[i], o.value);
            else if (o.kind == 'l') snprintf(line, sizeof(line), "\tldr\tr%d, [data, #%ld]\n", u.reg[i], o.value * 8);
            else snprintf(line, sizeof(line), "\t%s\tr%d, r%d, r%d\n", o.kind == '+' ? "add" : o.kind == '-' ? "sub" : o.kind == '*' ? "mul" : "and", u.reg[i], u.reg[o.a], u.reg[o.b]);
            u.text += line;
        }
    }
    FILE *file = fopen("module.s", "w");
    fwrite(u.text.data(), 1, u.text.size(), file);
    fclose(file);
}

/* Names are resolved in a table of all modules, and the texts are copied and summed. */
static void link(std::vector<unit> &all, int times)
{
    std::string image;
    std::map<std::string, long> symbol;
    for (int t = 0; t < times; t++) {
        image.clear();
        for (unit &u : all)
            for (size_t from = 0, to; (to = u.text.find('\n', from)) != std::string::npos; from = to + 1) {
                if (u.text.compare(from, 5, "\tldr\t") == 0) symbol[u.text.substr(from + 5, to - from - 5)]++;
                image.append(u.text, from, to - from);
            }
    }
    sink = (long)(image.size() + symbol.size());
}

static void test(std::vector<unit> &all, int times)
{
    std::vector<long> value, data(global.size() + 1, 3);
    while (times--)
        for (unit &u : all) {
            value.resize(u.code.size());
            for (size_t i = 0; i < u.code.size(); i++) {
                const op &o = u.code[i];
                switch (o.kind) {
                case 'n': value[i] = o.value; break;
                case 'l': value[i] = data[o.value]; break;
                case '+': value[i] = value[o.a] + value[o.b]; break;
                case '-': value[i] = value[o.a] - value[o.b]; break;
                case '*': value[i] = value[o.a] * value[o.b] & 0xffffff; break;
                default: value[i] = value[o.a] & value[o.b];
                }
            }
            data[0] += value.back() & 1;
        }
    sink = data[0];
}

static void compile(unit &u, int times)
{
    mark("compile", "parse");
    for (int i = 0; i < 6 * times; i++) parse(u);
    mark("compile", "optimise");
    optimise(u, 2 * times);
    mark("compile", "allocate");
    allocate(u, 12 * times);
    mark("compile", "emit");
    emit(u, 6 * times);
}

int main()
{
    std::vector<unit> all(3);
    mark("generate", NULL);
    for (int i = 0; i < 9; i++) all[i % 3].source = write_source((int[]){50000, 42000, 80000}[i % 3], i + 1) /* drafts, and what is kept */;
    for (int i = 0; i < 3; i++) compile(all[i], (int[]){2, 2, 1}[i]);
    mark("link", NULL);
    link(all, 17);
    mark("test", NULL);
    test(all, 50);
    compile(all[2], 1);
    mark("link", NULL);
    link(all, 17);
    compile(all[0], 2);
    mark("link", NULL);
    link(all, 15);
    mark("test", NULL);
    test(all, 50);
    return 0;
}
