/* Which variables are never recorded. */
#include "common/secret.h"
#include "test/check.h"

int main(void)
{
    static const char *const secrets[] = {"SLURM_JWT", "OMPI_TOKEN", "UCX_SECRET_KEY", "MPI_PASSWORD", "SLURM_AUTH_X", "LD_API_KEY",
                                          "MPI_MY_PASS", "OMPI_API_BEARER", "UCX_CLIENT_CERT_DATA", "UCX_cert"};
    static const char *const harmless[] = {"UCX_COMPASS", "MPI_PASSENGERS", "UCX_BYPASS", "FI_CERTAINTY", "PATH"};
    for (size_t i = 0; i < sizeof secrets / sizeof *secrets; i++)
        CHECK(secret_is(secrets[i], ""));
    for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
        CHECK(!secret_is(harmless[i], "north"));
    CHECK(secret_is("OMPI_PROXY", "http://user:hush@proxy:8080"));
    CHECK(secret_is("OMPI_PROXY", "see http://proxy and http://user@proxy"));
    CHECK(!secret_is("OMPI_PROXY", "http://proxy/a@b"));
    return CHECK_REPORT();
}
