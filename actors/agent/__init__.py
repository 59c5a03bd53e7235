"""The program around the tree: the command line, the start and its checks, run-once and the demo.

certificate_lifetime.py  when a certificate is near its end
client_certificate.py    which client certificate the agent shows the API server
command.py               the command `supervise`, or `kubelet`: hands its arguments to a subcommand
completed_names.py       the names that a shell offers for a half-typed command: actors, pods, configurations
completion.py            `supervise completion bash|zsh|fish`: the completion script of a shell
config_in_force.py       `supervise config show` of a running agent: the configuration in force
demo/                    `supervise demo`: a node on this machine with a sample pod
doctor/                  `supervise doctor`: checks everything that keeps the node from Ready or a pod from Running
engine_settings.py       what the engine's commands need to know of this agent: its files, its tree, its policy
guessed_words.py         maps words of kubectl users to commands of `supervise`
host_files.py            files of this host that a running agent needs, and what is wrong with them
inspection/              `supervise pods`, `describe pod`, `events`: what runs on this node, and why something does not
logged_pod.py            the pod whose log `supervise logs` shows, by the agent or without one
manifest_check.py        `supervise manifest check FILE...`: checks pod manifests by the rules of the static pod path
manual.py                `supervise man DIR`: the manual pages, made from the parser of all commands
memory_profile/          the memory profile: the functions and names that actors use
missing_controllers.py   the cgroup controllers that limit pods, and what mends their absence
observe/                 `supervise observe`: the tree in a browser, served by the command itself on loopback
other_kubelets.py        kubelets of this host, and the one on our root directory
pod_logs.py              `supervise logs POD`: the log of a container of a pod of this node, read from its file
read_only_disk.py        a file system that takes no writes, and what mends it
remedies.py              what mends problems that both `status` and `doctor` find
reset/                   `supervise reset`: removes what an agent has left on its host
run_once.py              `supervise run-once`: starts the static pods, prints the outcome of each, and ends
running_flags.py         the flags of the agent that runs, or ran last, for commands to which none are given
runtime_limits.py        whether the runtime is short of open files, which both `status` and `doctor` say
service_unit.py          the systemd unit of a running agent, for the command that restarts it
shadowed_packages.py     detects packages of other projects that hide this project's packages
start.py                 `supervise start`: from the command line to a running tree
start_checks.py          checks of the host at start: reservations, cgroups, the runtime
status.py                what `supervise status` knows beyond the tree: the runtime's socket, manifests, certificates
subcommands.py           the subcommands of `supervise` that do not become the agent
validation.py            validates the input of `supervise start`: flags and files
"""
