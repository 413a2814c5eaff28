#include "rpistat/tracker.h"
