#include "rpistat/naming.h"
