package jobs

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/render/database"
	"github.com/shopfleet/shopfleet/spoke/render/objectparts"
	"github.com/shopfleet/shopfleet/spoke/transfer/order"
)

// errDump means that the name, size or checksum of a dump is invalid.
var errDump = errors.New("no file name, size above 0 and checksum of 64 hexadecimal digits")

// LoadSpec describes a dump to load into a database.
type LoadSpec struct {
	Job
	// Database is the target. It must be running. The pod has its settings.
	Database database.Spec
	// File is the name of the dump on the claim, SHA256 its checksum in hexadecimal.
	File, SHA256 string
	// Bytes is its size.
	Bytes int64
	// Claim is the name of the claim that holds the dump, or to which it is downloaded, in
	// the namespace of the Job and the database.
	Claim string
	// Overwrite allows the load to replace existing content.
	Overwrite bool
	// Fetch downloads the dump to the claim first; nil if it exists there.
	Fetch *Fetch
}

// Fetch describes a dump to download from a bucket.
type Fetch struct {
	// Image is the image of the spoke.
	Image string
	// Order is an encoded order.Order with the direction order.Fetch.
	Order []byte
}

// Load returns a Job that loads a dump into a database, and the Secret with the order of
// the download, which has the same name and must be created first; nil without a
// download.
//
// An error means that the arguments are invalid, or names the field of the database's
// spec that must change. It contains nothing of the order.
func Load(l LoadSpec) (*batchv1.Job, *corev1.Secret, error) {
	if err := l.checkLoad(); err != nil {
		return nil, nil, err
	}
	client, err := l.Database.Client()
	if err != nil {
		return nil, nil, err
	}
	l.UserIDs = l.Database.UserIDs
	labels := l.labels(client.Labels)
	tmp, tmpMount := objectparts.Scratch("tmp", "/tmp")
	pod := corev1.PodSpec{
		Containers: []corev1.Container{{
			Name:                     LoadContainer,
			Image:                    client.Image,
			Command:                  []string{"sh", "-c", script(l.Database.Engine), "load.sh"},
			Env:                      append(client.Env, l.env()...),
			TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
			Resources:                objectparts.Requests(50, 128),
			SecurityContext:          objectparts.ContainerSecurity(),
			VolumeMounts: []corev1.VolumeMount{
				{Name: backupsVolume, MountPath: backupsPath, ReadOnly: true},
				tmpMount,
			},
		}},
		Volumes: []corev1.Volume{backups(l.Claim), tmp},
	}
	if l.Fetch == nil {
		return l.job(labels, limits{retries: loadRetries, seconds: loadSeconds, final: []batchv1.PodFailurePolicyRule{loadFails()}}, pod, l.Database.Pods), nil, nil
	}
	secret, err := l.secret(labels, l.Fetch.Order, order.Fetch)
	if err != nil {
		return nil, nil, err
	}
	pod.InitContainers = []corev1.Container{transfer(FetchContainer, l.Fetch.Image, false)}
	pod.Volumes = append(pod.Volumes, orders(l.Name))
	return l.job(labels, limits{
		retries: transferRetries, seconds: loadSeconds, final: []batchv1.PodFailurePolicyRule{fetchFails(), loadFails()},
	}, pod, l.Database.Pods), secret, nil
}

// env returns what the scripts read of the dump.
func (l LoadSpec) env() []corev1.EnvVar {
	return []corev1.EnvVar{
		{Name: "DUMP", Value: backupsPath + "/" + l.File},
		{Name: "DUMP_SHA256", Value: l.SHA256},
		{Name: "DUMP_BYTES", Value: strconv.FormatInt(l.Bytes, 10)},
		{Name: "OVERWRITE", Value: strconv.FormatBool(l.Overwrite)},
	}
}

// fetchFails and loadFails return the rules for what another attempt of these containers cannot change.
func fetchFails() batchv1.PodFailurePolicyRule {
	return final(FetchContainer, order.ExitFinal, order.ExitGone)
}

func loadFails() batchv1.PodFailurePolicyRule {
	return final(LoadContainer, ExitNotEmpty, ExitChecksum, ExitMissing)
}

func (l LoadSpec) checkLoad() error {
	if err := l.check(l.Claim); err != nil {
		return err
	}
	if !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`).MatchString(l.File) || l.Bytes <= 0 ||
		!regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(l.SHA256) {
		return fmt.Errorf("dump %q: %w", l.File, errDump)
	}
	if l.Fetch != nil && l.Fetch.Image == "" {
		return fmt.Errorf("job %q: %w", l.Name, errImage)
	}
	return nil
}

func script(engine v1.Engine) string {
	if engine == v1.EngineMySQL {
		return mySQLLoad
	}
	return postgreSQLLoad
}

// ClaimSpec describes a claim to which a dump is downloaded.
type ClaimSpec struct {
	// Job provides name, labels, annotations and owners.
	Job
	// Bytes is the size of the dump.
	Bytes int64
	// StorageClass is the class of the volume; nil for the cluster's default.
	StorageClass *string
}

// Claim returns a claim that is large enough for a dump of this size and the file system.
func Claim(c ClaimSpec) *corev1.PersistentVolumeClaim {
	const mebibyte = 1 << 20
	bytes := c.Bytes + c.Bytes/10 + 64*mebibyte
	bytes = (bytes + mebibyte - 1) / mebibyte * mebibyte
	claim := &corev1.PersistentVolumeClaim{
		TypeMeta:   objectparts.Type("v1", "PersistentVolumeClaim"),
		ObjectMeta: c.meta(c.labels(map[string]string{v1.ComponentLabel: sendComponent, v1.ManagedByLabel: v1.ManagedBy})),
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceStorage: *resource.NewQuantity(bytes, resource.BinarySI)},
			},
		},
	}
	if c.StorageClass != nil {
		claim.Spec.StorageClassName = new(*c.StorageClass)
	}
	return claim
}
