/* Molecular dynamics: a lattice is minimised, then simulated in rounds (nested: neighbours by one thread, forces by
 * two), analysed (distances, then diffusion's spectrum) and kept. Fixed work. */
#include <thread>
#include <vector>

#include "program.h"

static const int N = 6912, SIDE = 12;
static const double BOX = SIDE * 1.68;
struct Vector {
    double x, y, z;
};
static std::vector<Vector> place(N), speed(N), force(N);
static std::vector<std::vector<int>> near(N);
static std::vector<double> track, histogram(512);

static double wrap(double d) { return d > BOX / 2 ? d - BOX : d < -BOX / 2 ? d + BOX : d; }

WORK lattice()
{
    for (int i = 0; i < N; i++) {
        int cell = i / 4, k = i % 4;
        double half = BOX / SIDE / 2;
        place[i] = {(cell % SIDE) * BOX / SIDE + (k & 1) * half, (cell / SIDE % SIDE) * BOX / SIDE + (k >> 1) * half,
                    (cell / SIDE / SIDE) * BOX / SIDE + ((k ^ k >> 1) & 1) * half};
        speed[i] = {drawn() - .5, drawn() - .5, drawn() - .5};
    }
}

WORK neighbours()
{
    for (auto &list : near)
        list.clear();
    for (int i = 0; i < N; i++)
        for (int j = i + 1; j < N; j++) {
            double x = wrap(place[i].x - place[j].x), y = wrap(place[i].y - place[j].y), z = wrap(place[i].z - place[j].z);
            if (x * x + y * y + z * z < 2.8 * 2.8) {
                near[i].push_back(j);
                near[j].push_back(i);
            }
        }
}

static void forces_of(int from, int to)
{
    for (int i = from; i < to; i++) {
        Vector sum = {0, 0, 0};
        for (int j : near[i]) {
            double x = wrap(place[i].x - place[j].x), y = wrap(place[i].y - place[j].y), z = wrap(place[i].z - place[j].z),
                   r2 = x * x + y * y + z * z;
            if (r2 > 2.5 * 2.5)
                continue;
            double i2 = 1 / (r2 < .7 ? .7 : r2), i6 = i2 * i2 * i2, f = 48 * i6 * (i6 - .5) * i2;
            sum.x += f * x, sum.y += f * y, sum.z += f * z;
        }
        force[i] = sum;
    }
}

WORK move(double step, double keep)
{
    auto in = [](double x) { return x < 0 ? x + BOX : x >= BOX ? x - BOX : x; };
    for (int i = 0; i < N; i++) {
        Vector &v = speed[i], &p = place[i];
        v = {v.x * keep + force[i].x * step, v.y * keep + force[i].y * step, v.z * keep + force[i].z * step};
        p = {in(p.x + v.x * step), in(p.y + v.y * step), in(p.z + v.z * step)};
    }
}

WORK minimise(int steps)
{
    for (int i = 0; i < steps; i++) {
        forces_of(0, N);
        move(.001, 0);
    }
}

WORK steps(int count)
{
    for (int i = 0; i < count; i++) {
        std::thread other(forces_of, 0, N / 2);
        forces_of(N / 2, N);
        other.join();
        move(.002, .9995);
        for (int k = 0; k < N; k += 16)
            track.push_back(speed[k].x);
    }
}

WORK distances()
{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < i; j++) {
            double x = wrap(place[i].x - place[j].x), y = wrap(place[i].y - place[j].y), z = wrap(place[i].z - place[j].z);
            histogram[(int)(std::sqrt(x * x + y * y + z * z) * 20) & 511]++;
        }
}

WORK spectrum(int lines)
{
    for (int k = 0; k < lines; k++) {
        double re = 0, im = 0;
        for (size_t i = 0; i < 80000; i++) {
            double value = track[i % track.size()];
            re += value * std::cos(.001 * k * i), im += value * std::sin(.001 * k * i);
        }
        histogram[k & 511] += re * re + im * im;
    }
}

WORK keep(int times)
{
    FILE *file = fopen("frame", "w");
    for (int t = 0; t < times; t++)
        for (int i = 0; i < N; i++)
            fprintf(file, "%d C %.6f %.6f %.6f %.6f\n", i, place[i].x, place[i].y, place[i].z, speed[i].x);
    fflush(file);
    fsync(fileno(file));
    fclose(file);
}

int main()
{
    static const int plan[3][5] = {{2, 100, 3, 300, 54}, {2, 130, 4, 0, 62}, {3, 90, 0, 360, 50}};
    mark("minimise", NULL);
    lattice();
    neighbours();
    minimise(60);
    for (auto &p : plan) {
        for (int i = 0; i < p[0]; i++) {
            mark("simulate", "neighbours");
            for (int k = 0; k < 4; k++)
                neighbours();
            mark("simulate", "forces");
            steps(p[1]);
        }
        if (p[2])
            mark("analyse", "distances");
        for (int i = 0; i < p[2]; i++)
            distances();
        if (p[3])
            mark("analyse", "spectrum");
        spectrum(p[3]);
        mark("keep", NULL);
        keep(p[4]);
    }
    return histogram[3] == 1;
}
