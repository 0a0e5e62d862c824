package database

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/shopfleet/shopfleet/spoke/render/objectparts"
)

// markEnv returns the variable by which the init container knows whether it may initialize the volume.
// Without the mark no pod starts: one that is lost with the volume is written first.
func (r renderer) markEnv() []corev1.EnvVar {
	return []corev1.EnvVar{objectparts.SecretEnv("DATABASE_CREATED", r.MarkName(), CreatedKey)}
}

// refuseEmpty is the part of the script of an init container that initializes no volume of a database that
// was created before. The code is ExitLost.
const refuseEmpty = `if [ "${POD_NAME##*-}" = 0 ] && [ "${DATABASE_CREATED:-}" != false ]; then
  echo "the volume is empty, although the database was created before: restore a backup, or annotate the application with ecommerce.io/start-empty: <token> to begin with an empty one" >&2
  exit 66
fi
`
