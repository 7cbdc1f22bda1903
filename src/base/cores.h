/* How many processors a control group leaves to this process. Apart from thread.h so that tests can give it files of their own.
 */
#ifndef WEFT_BASE_CORES_H
#define WEFT_BASE_CORES_H

/* The least quota of the process's group and of every group above it, rounded up to whole processors; 0 = no quota.
 * proc_cgroup: "/proc/self/cgroup"; mount: "/sys/fs/cgroup". Reads version 2 (cpu.max) and version 1 (cpu.cfs_quota_us,
 * cpu.cfs_period_us). Source: kernel documentation, admin-guide/cgroup-v2.rst and scheduler/sched-bwc.rst. */
int weft_cgroup_cores(const char *proc_cgroup, const char *mount);

#endif
