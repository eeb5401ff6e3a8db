/* mdtest_config: the options of mdtest and what they may not be together. */
#pragma once

#include "common/opt.h"
#include "mdtest/model.h"

enum { MDTEST_SEED_TO_CHOOSE = -2, MDTEST_NOT_RANDOM = -1 }; /* -R without a seed; no -R */

/* Fills config from the command line; as opt_parse. */
bool mdtest_config_read(struct mdtest_config *config, int argc, char **argv, struct opt_common *common, int *status);

/* Collective. Completes and checks what the options say and lays out the tree. Every rank gets the same: EXIT_CODE_OK, or
 * what to exit with after the one message of rank 0. */
int mdtest_config_check(struct mdtest_config *config, struct mdtest_tree *tree, int ranks);

/* Options that were given and have no effect; takes back those that others would look at. Gives how many there are. */
enum { MDTEST_MOST_UNUSED = 8 };
int mdtest_config_unused(struct mdtest_config *config, const char *unused[MDTEST_MOST_UNUSED]);

void mdtest_config_free(struct mdtest_config *config);
