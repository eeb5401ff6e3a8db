/* pairs: which process sends to which. Pure. */
#include "common/pairs.h"

int pairs_peer(int position, int pairs, int distance, bool *sends)
{
    *sends = position < pairs;
    if (*sends)
        return position + distance;
    if (position >= distance && position < distance + pairs)
        return position - distance;
    return -1;
}
