#!/bin/sh
# run.sh GUEST_BINARY DRIVERS_FOLDER: every test of the guest and of its Python driver.
#
# The driver is compared with plain python3 on this machine and, where Docker and the image are there, in the image;
# the guest runs in containers of the image, or in namespaces. Exits non-zero if any test failed.
set -u
guest=$(realpath "$1") drivers=$(realpath "$2")
here=$(cd "$(dirname "$0")" && pwd)
image=${BELLJAR_TEST_IMAGE:-belljar-python}
export PYTHONDONTWRITEBYTECODE=1
status=0

/usr/bin/python3 "$here/run.py" "$drivers" </dev/null || status=1
if timeout 20 docker image inspect "$image" >/dev/null 2>&1; then
	docker run --rm --label belljar-test=driver --network none --read-only --user 65532:65532 --tmpfs /tmp:exec \
		--log-driver none --env PYTHONDONTWRITEBYTECODE=1 --volume "$here:/tests:ro" \
		--volume "$drivers:/belljar/drivers:ro" "$image" python3 /tests/run.py /belljar/drivers </dev/null || status=1
else
	echo "driver: not compared inside of $image, which is not there"
fi
/usr/bin/python3 "$here/guest_test.py" "$guest" "$drivers" </dev/null || status=1
exit $status
