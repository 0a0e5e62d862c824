package v1

// CronSchedule is a cron expression with five fields: minute, hour, day, month, weekday. Names and
// macros are not accepted.
//
// +kubebuilder:validation:MaxLength=128
// +kubebuilder:validation:XValidation:rule="self.matches('^(([*]|[0-5]?[0-9](-[0-5]?[0-9])?)(/[1-9][0-9]?)?)(,([*]|[0-5]?[0-9](-[0-5]?[0-9])?)(/[1-9][0-9]?)?)* (([*]|([01]?[0-9]|2[0-3])(-([01]?[0-9]|2[0-3]))?)(/[1-9][0-9]?)?)(,([*]|([01]?[0-9]|2[0-3])(-([01]?[0-9]|2[0-3]))?)(/[1-9][0-9]?)?)* (([*]|(0?[1-9]|[12][0-9]|3[01])(-(0?[1-9]|[12][0-9]|3[01]))?)(/[1-9][0-9]?)?)(,([*]|(0?[1-9]|[12][0-9]|3[01])(-(0?[1-9]|[12][0-9]|3[01]))?)(/[1-9][0-9]?)?)* (([*]|(0?[1-9]|1[0-2])(-(0?[1-9]|1[0-2]))?)(/[1-9][0-9]?)?)(,([*]|(0?[1-9]|1[0-2])(-(0?[1-9]|1[0-2]))?)(/[1-9][0-9]?)?)* (([*]|[0-6](-[0-6])?)(/[1-9][0-9]?)?)(,([*]|[0-6](-[0-6])?)(/[1-9][0-9]?)?)*$')",message="schedule must be five fields of cron, for example 0 2 * * *: minute 0-59, hour 0-23, day of month 1-31, month 1-12, day of week 0-6"
// +kubebuilder:validation:XValidation:rule="self.findAll('[0-9]{1,2}-[0-9]{1,2}').all(r, int(r.split('-')[0]) <= int(r.split('-')[1]))",message="schedule must have its ranges from low to high, for example 1-5"
type CronSchedule string

// TimeZone is UTC or the IANA name of a time zone, for example Europe/Dublin. Local, the zone of the machine
// that reads it, is refused: machines differ in it.
//
// +kubebuilder:validation:MaxLength=64
// +kubebuilder:validation:XValidation:rule="self != 'Local'",message="timeZone must be UTC or the IANA name of a time zone, for example Europe/Dublin"
// +kubebuilder:validation:Pattern=`^[A-Za-z][A-Za-z0-9_+/-]*$`
type TimeZone string
