package render

// Version is the version of the pod templates that this package renders, in digits. It is raised with each change of
// them, so that pods that run are not replaced before the hub says so, or in a cluster without a hub one component
// after the other. Those of CronJobs are not held: they change at their next run. Whatever is rendered beside a pod
// template must work with the pods of the version before.
const Version = "2"
