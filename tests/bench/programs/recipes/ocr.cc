/* A reader of scanned pages: a dictionary is loaded; three documents are unpacked, laid out (nested: binarise,
 * segment), recognised and spelled; one that is text already is spelled only; they are exported. Fixed work. */
#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "program.h"

static const int W = 900, H = 1200;
using Page = std::vector<unsigned char>;
static unsigned seed = 5;
static unsigned next() { return (seed = seed * 1664525 + 1013904223) >> 9; }
static unsigned long shapes[26][2];
static std::set<std::string> dictionary;
static std::vector<std::string> by_length[16];

static void draw_shapes()
{
    for (auto &shape : shapes)
        for (auto &bits : shape)
            bits = ((unsigned long)next() << 42) ^ ((unsigned long)next() << 20) ^ next();
}

static void write_pages()
{
    for (int p = 0; p < 4; p++) {
        Page page(W * H, 220);
        for (int row = 0; row < 60; row++)
            for (int column = 0; column < 70; column++) {
                int letter = (int)(next() % 26);
                for (int i = 0; i < 112; i++)
                    if (shapes[letter][i / 64] >> i % 64 & 1)
                        page[(row * 20 + 3 + i / 8) * W + column * 12 + 10 + i % 8] = 30;
            }
        for (auto &dot : page)
            dot = (unsigned char)(dot + next() % 30);
        std::ofstream file("page" + std::to_string(p));
        for (int i = 0; i < W * H; i++)  // differences to the left
            file.put((char)(page[i] - (i ? page[i - 1] : 0)));
    }
}

WORK load_dictionary()
{
    for (int i = 0; i < 260000; i++) {
        std::string word;
        for (unsigned n = 3 + next() % 9; n; n--)
            word += (char)('a' + next() % 26);
        if (dictionary.insert(word).second && i % 20 == 0)
            by_length[word.size()].push_back(word);
    }
}

static Page unpack(int p)
{
    std::ifstream file("page" + std::to_string(p));
    Page page(W * H);
    unsigned char last = 0;
    for (auto &dot : page)
        dot = last = (unsigned char)(last + file.get());
    return page;
}

static Page binarise(const Page &page)
{
    Page result(W * H);
    std::vector<double> sum((W + 1) * (H + 1)), squares(sum);
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            int i = (y + 1) * (W + 1) + x + 1, up = i - W - 1;
            double v = page[y * W + x];
            sum[i] = v + sum[i - 1] + sum[up] - sum[up - 1];
            squares[i] = v * v + squares[i - 1] + squares[up] - squares[up - 1];
        }
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++) {
            int a = std::max(0, x - 12), b = std::min(W, x + 12), c = std::max(0, y - 12) * (W + 1), d = std::min(H, y + 12) * (W + 1);
            double n = (b - a) * (d - c) / (W + 1), mean = (sum[d + b] - sum[c + b] - sum[d + a] + sum[c + a]) / n;
            double spread = sqrt(std::max(0., (squares[d + b] - squares[c + b] - squares[d + a] + squares[c + a]) / n - mean * mean));
            result[y * W + x] = page[y * W + x] < mean * (1 + .2 * (spread / 128 - 1));
        }
    return result;
}

struct Box { int x, y, x2, y2; };

static std::vector<Box> segment(Page page)
{
    std::vector<Box> boxes;
    std::vector<int> stack;
    for (int start = W + 1; start < W * (H - 1); start++) {
        if (!page[start])
            continue;
        Box box = {W, H, 0, 0};
        stack.push_back(start);
        page[start] = 0;
        while (!stack.empty()) {
            int i = stack.back(), x = i % W, y = i / W;
            stack.pop_back();
            box = {std::min(box.x, x), std::min(box.y, y), std::max(box.x2, x), std::max(box.y2, y)};
            for (int near : {-W - 1, -W, -W + 1, -1, 1, W - 1, W, W + 1})
                if (i + near >= 0 && i + near < W * H && page[i + near]) {
                    page[i + near] = 0;
                    stack.push_back(i + near);
                }
        }
        boxes.push_back(box);
    }
    return boxes;
}

static std::string recognise(const Page &page, const std::vector<Box> &)
{
    std::string text;
    for (int row = 0; row < 60; row++)
        for (int column = 0; column < 70; column++) {
            int best = 0, most = -1;
            for (int letter = 0; letter < 26; letter++)
                for (int shift = 0; shift < 4; shift++) {
                    int same = 0;
                    for (int i = 0; i < 112; i++)
                        same += page[(row * 20 + 3 + i / 8) * W + column * 12 + 10 + shift + i % 8] ==
                                (shapes[letter][i / 64] >> i % 64 & 1);
                    if (same > most) {
                        most = same;
                        best = letter;
                    }
                }
            text += column % 7 == 6 ? ' ' : (char)('a' + best);
        }
    return text;
}

static int distance(const std::string &a, const std::string &b)
{
    int row[20];
    for (size_t j = 0; j <= b.size(); j++)
        row[j] = (int)j;
    for (size_t i = 1; i <= a.size(); i++) {
        int diagonal = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= b.size(); j++) {
            int old = row[j];
            row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
            diagonal = old;
        }
    }
    return row[b.size()];
}

static std::string spell(const std::string &text, int words)
{
    std::string result;
    for (size_t at = 0; words-- && at + 6 < text.size(); at += 7) {
        std::string word = text.substr(at, 6), best = word;
        int least = 9;
        if (!dictionary.count(word))
            for (auto &other : by_length[6])
                if (int d = distance(word, other); d < least) {
                    least = d;
                    best = other;
                }
        result += best + " ";
    }
    return result;
}

WORK write_out(const std::string &text, int copies)
{
    std::map<std::string, std::vector<int>> index;
    for (int c = 0; c < copies; c++) {
        std::ofstream file("out.html");
        for (size_t i = 0; i + 7 < text.size(); i += 7) {
            index[text.substr(i, 6)].push_back((int)i);
            file << "<span id=" << i << ">" << text.substr(i, 6) << "</span>" << std::endl;
        }
    }
}

int main(int argc, char **)
{
    draw_shapes();
    if (argc > 1) {
        write_pages();
        return 0;
    }
    mark("load", nullptr);
    load_dictionary();
    std::string all;
    for (int document = 0; document < 3; document++) {
        int pages = document == 1 ? 5 : 6;
        std::vector<Page> in, flat;
        std::vector<std::vector<Box>> boxes;
        mark("unpack", nullptr);
        for (int p = 0; p < pages * 7; p++) {
            in.push_back(unpack(p % 4));
            if ((int)in.size() > pages)
                in.erase(in.begin());
        }
        mark("layout", "binarise");
        for (int p = 0; p < pages * 4; p++) {
            flat.push_back(binarise(in[p % pages]));
            if ((int)flat.size() > pages)
                flat.erase(flat.begin());
        }
        mark("layout", "segment");
        for (int p = 0; p < pages * 9; p++)
            boxes.push_back(segment(flat[p % pages]));
        mark("recognise", nullptr);
        std::string text;
        for (int p = 0; p < pages; p++)
            text += recognise(flat[p], boxes[p]);
        mark("spell", nullptr);
        all += spell(text, pages * 600);
        if (document == 1) {
            mark("export", nullptr);
            write_out(all, 50);
            mark("spell", nullptr);  // of a document that is text already
            std::string text_in;
            for (int i = 0; i < 2500 * 7; i++)
                text_in += i % 7 == 6 ? ' ' : (char)('a' + next() % 26);
            all += spell(text_in, 2500);
        }
    }
    mark("export", nullptr);
    write_out(all, 50);
    return 0;
}
