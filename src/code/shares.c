#include "rpistat/shares.h"
