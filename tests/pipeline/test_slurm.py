"""A sweep through a real Slurm cluster of one node, on loopback."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from sharing import free_port
from small_pipeline import PARTS, Project, call, start
from workspace import ROOT, commit, ended, run

from marked import wait_until

pytestmark = pytest.mark.slow

NEEDED = ("munged", "slurmctld", "slurmd", "sbatch")

CONFIGURATION = """\
ClusterName=test
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={port}
SlurmdPort={node_port}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
KillWait=5
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=1,batch_sched_delay=0
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
GresTypes=gpu
NodeName={host} NodeAddr=127.0.0.1 CPUs=16 RealMemory=64000 Gres=gpu:2 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
PartitionName=accelerated Nodes={host} MaxTime=INFINITE State=UP
"""

#: Slurm hands out devices by number and does not look into them.
DEVICES = "NodeName={host} Name=gpu File=/dev/null\nNodeName={host} Name=gpu File=/dev/zero\n"

#: A kind of stage for which the cluster has a partition with GPUs.
ACCELERATED = """\
kinds:
  heavy: {partition: accelerated, timeout_min: 20, cpus_per_task: 2, mem_gb: 2, gpus_per_node: 1}
  light: {partition: all, timeout_min: 10, cpus_per_task: 1, mem_gb: 1, gpus_per_node: null}
stages: {base: light, left: light, right: heavy, end: light}
"""


def install():
    """Slurm's daemons, installed when this process may do so."""
    if os.geteuid() != 0:
        pytest.skip("a Slurm cluster of one's own needs root")
    if all(map(shutil.which, NEEDED)):
        return
    if shutil.which("apt-get") is None:
        pytest.skip("Slurm is not installed, and there is no apt-get to install it")
    command = ["apt-get", "install", "-y", "-q", "slurmctld", "slurmd", "munge"]
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    if subprocess.run(command, env=environment, capture_output=True, check=False).returncode:
        pytest.skip("apt-get could not install Slurm")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """The environment in which Slurm's commands talk to the cluster."""
    install()
    folder = tmp_path_factory.mktemp("slurm")
    for parent in [folder, *folder.parents]:  # munged trusts no path that others may write
        if parent.is_relative_to("/tmp") and parent != Path("/tmp"):
            parent.chmod(0o755)
    for name in ("state", "spool", "munge"):
        (folder / name).mkdir()
    key = folder / "munge" / "key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o400)
    for path in (folder / "munge", key):
        shutil.chown(path, "munge", "munge")
    munge = [
        "runuser", "-u", "munge", "--", "munged", "--force", "--foreground",
        f"--key-file={key}", f"--socket={folder}/munge/socket",
        f"--pid-file={folder}/munge/pid", f"--log-file={folder}/munge/log",
        f"--seed-file={folder}/munge/seed",
    ]  # fmt: skip
    host = subprocess.check_output(["hostname", "-s"], text=True).strip()
    ports = {"port": free_port(), "node_port": free_port()}
    configuration = folder / "slurm.conf"
    configuration.write_text(CONFIGURATION.format(folder=folder, host=host, **ports))
    (folder / "gres.conf").write_text(DEVICES.format(host=host))
    environment = {"SLURM_CONF": str(configuration)}
    daemons = []

    def start(*command):
        daemons.append(
            subprocess.Popen(
                command,
                env=os.environ | environment,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        )

    try:
        start(*munge)
        wait_until(lambda: (folder / "munge" / "socket").exists(), "munged does not start")
        start("slurmctld", "-D", "-f", str(configuration))
        start("slurmd", "-D", "-f", str(configuration))

        def idle():
            command = ["sinfo", "--noheader", "--format=%t"]
            _, shown = ended(folder, *command, environment=os.environ | environment)
            return set(shown.split()) == {"idle"}

        wait_until(idle, "the node does not come up")
        yield environment
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()


SWEEP = ["sweep", "--name", "s", "fuzz.mutants=5,6", "hydra/launcher=slurm"]


def queued(cluster):
    shown = run(ROOT, "squeue", "--noheader", "--array", "--format=%i %T", **cluster)
    return [line.split()[0] for line in shown.splitlines() if "RUNNING" in line]


def requests(cluster, name, facts="%C %m %l"):
    """What jobs of a name asked for, those that have ended too: processors, memory and time."""
    command = ["squeue", "--noheader", "--array", "--states=all", f"--format=%j {facts}"]
    lines = [line.split(maxsplit=1) for line in run(ROOT, *command, **cluster).splitlines()]
    return sorted(asked for job, asked in lines if job.startswith(name))


@pytest.fixture
def project(tmp_path, cluster):
    project = Project(tmp_path)
    project.environment |= cluster
    return project


def test_a_killed_job_loses_its_point_only_and_the_same_command_goes_on(project, cluster):
    (project.notes / "hold-right").touch()
    process = start(project, *SWEEP)
    project.wait_for("right", count=2)
    killed = queued(cluster)[0]
    run(project.root, "scancel", killed, **cluster)
    wait_until(lambda: len(queued(cluster)) == 1, "the job is not gone")
    (project.notes / "hold-right").unlink()
    output, _ = process.communicate(timeout=180)
    assert process.returncode == 1, output
    assert output.count("finished,") == 1, output
    assert output.count("lost,") == 1, output
    before = project.ran()
    assert before.count("base") == before.count("left") == before.count("end") == 1

    status, output = call(project, *SWEEP)
    assert status == 0, output
    assert project.ran() == ["end", "right"]


def test_each_point_asks_for_what_the_stages_that_it_will_run_need(project, cluster):
    status, output = call(project, "sweep", "--name", "before", "fuzz.mutants=5")
    assert status == 0, output
    project.ran()
    sweep = ["sweep", "--name", "kinds", "fuzz.mutants=5,6", "hydra/launcher=slurm"]
    status, output = call(project, *sweep)
    assert status == 0, output
    assert project.ran() == ["end", "right"]
    assert requests(cluster, "asterism-kinds-") == ["1 1G 10:00", "2 2G 20:00"]

    sweep[2:4] = ["told", "fuzz.mutants=5,7"]
    told = ["hydra.launcher.cpus_per_task=3", "hydra.launcher.timeout_min=7"]
    status, output = call(project, *sweep, *told)
    assert status == 0, output
    assert requests(cluster, "asterism-told-") == ["3 1G 7:00", "3 2G 7:00"]


def test_stages_of_a_kind_run_in_their_partition_and_get_their_gpus(project, cluster):
    (project.root / "conf/hydra/resources.yaml").write_text(ACCELERATED)
    script = project.root / "stages/small.py"
    note = "(notes / f'devices-{name}').write_text(os.environ.get('CUDA_VISIBLE_DEVICES', ''))"
    script.write_text(f"{script.read_text()}\n{note}\n")
    commit(project.root, "GPUs")
    status, output = call(project, "sweep", "--name", "before", "fuzz.mutants=5")
    assert status == 0, output
    status, output = call(project, *SWEEP[:1], "--name", "gpus", *SWEEP[3:])
    assert status == 0, output
    asked = requests(cluster, "asterism-gpus-", "%P %C %b")
    # Slurm's releases spell it in two ways.
    assert [a.replace("gres/", "gres:") for a in asked] == ["accelerated 2 gres:gpu:1", "all 1 N/A"]
    assert (project.notes / "devices-right").read_text() in ("0", "1")
    assert (project.notes / "devices-base").read_text() == ""


def test_parts_are_jobs_and_one_that_is_killed_costs_nothing(tmp_path, cluster):
    project = Project(tmp_path, long=True)
    project.environment |= cluster
    project.expect(4)  # more than there will be: the units that are begun wait
    shards = ["--shards", "2", "--shard-launcher", "slurm_shard"]
    process = start(project, "repro", *shards)
    wait_until(lambda: len(project.shared()) == 2, "no two jobs began")
    killed, who = project.shared()[0]
    assert requests(cluster, "asterism-shard") == ["1 1G 10:00"] * 2
    run(project.root, "scancel", who.split("-")[0], **cluster)
    wait_until(lambda: len(queued(cluster)) == 1, "the job is not gone")
    (project.notes / "expected").write_text("1")
    output, _ = process.communicate(timeout=180)
    assert process.returncode == 0, output
    assert (project.root / "artifacts/long").read_text() == PARTS
    begun = [number for number, _ in project.shared()]
    assert sorted(begun, key=int) == sorted([*map(str, range(12)), killed], key=int)
    assert not queued(cluster)


def test_a_job_that_is_queued_again_goes_on_behind_the_units_that_are_finished(tmp_path, cluster):
    project = Project(tmp_path, long=True)
    project.environment |= cluster
    project.expect(1)
    (project.notes / "hold-5").touch()
    process = start(project, *SWEEP[:3], "seed=1", *SWEEP[4:])
    wait_until(lambda: len(project.shared()) == 6, "the sixth unit did not begin", 120)
    (job,) = queued(cluster)
    run(project.root, "scontrol", "requeue", job, **cluster)
    wait_until(lambda: not queued(cluster), "the job is not gone")
    (project.notes / "hold-5").unlink()
    output, _ = process.communicate(timeout=400)  # Slurm waits two minutes before it begins again
    assert process.returncode == 0, output
    begun = [int(number) for number, _ in project.shared()]
    assert begun == [*range(6), *range(5, 12)]


def test_a_partition_that_does_not_exist(project):
    status, output = call(project, *SWEEP, "hydra.launcher.partition=nope")
    assert status == 1
    last = output.splitlines()[-1]
    assert last.startswith("error: no point began, the launcher slurm failed: ")
    assert "invalid partition" in last.lower()
    assert "Traceback" not in output


def test_an_interrupt_reaches_the_jobs(project, cluster):
    (project.notes / "hold-base").touch()
    process = start(project, *SWEEP)
    project.wait_for("base")
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 130, output
    wait_until(lambda: not queued(cluster), "jobs are left")
    assert project.ran() == ["base"]
