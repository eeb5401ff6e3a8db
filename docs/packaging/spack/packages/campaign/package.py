from spack.package import *
from spack_repo.builtin.build_systems.python import PythonPackage


class Campaign(PythonPackage):
    """Runs an RFP's benchmarks on Slurm under the RFP's run rules, and produces verifiable result tables."""

    # The source distribution that `make release` writes; its line in SHA256SUMS is the checksum.
    url = "file:///path/to/campaign-0.3.0.tar.gz"

    license("Apache-2.0", checked_by="campaign")

    version("0.3.0", sha256="0000000000000000000000000000000000000000000000000000000000000000")

    depends_on("python@3.11:", type=("build", "run"))
    depends_on("py-hatchling@1.26:", type="build")
    depends_on("py-argcomplete@3.3:", type=("build", "run"))
    depends_on("py-jinja2@3.1:", type=("build", "run"))
    depends_on("py-pyyaml@6:", type=("build", "run"))
    depends_on("py-tabulate@0.9:", type=("build", "run"))
    depends_on("py-rich@13:", type=("build", "run"))
    depends_on("py-xlsxwriter@3:", type=("build", "run"))
    depends_on("py-openpyxl@3.1:", type=("build", "run"))
    depends_on("py-lxml@5:", type=("build", "run"))
    depends_on("py-python-docx@1.1:", type=("build", "run"))
    depends_on("py-numpy@1.26:", type=("build", "run"))
    depends_on("py-scipy@1.11:", type=("build", "run"))
    depends_on("py-google-re2@1.1:", type=("build", "run"))
    depends_on("py-orjson@3.10:", type=("build", "run"))

    # The benchmark is compiled here with Spack's MPI; `campaign build` compiles it again with another.
    depends_on("c", type="build")
    depends_on("gmake", type="build")
    depends_on("mpi")
    depends_on("liburing", when="platform=linux")

    @run_after("install")
    def build_benchmark(self):
        campaign = Executable(self.prefix.bin.campaign)
        campaign.add_default_env("CAMPAIGN_BENCHMARK", self.prefix.libexec.campaign)
        campaign("build", "--mpicc", self.spec["mpi"].mpicc)

    def setup_run_environment(self, env):
        env.set("CAMPAIGN_BENCHMARK", self.prefix.libexec.campaign)
