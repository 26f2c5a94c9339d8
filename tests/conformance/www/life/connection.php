<?php

echo connection_status(), ' ', connection_aborted(), ' ', ignore_user_abort(), ' ', ignore_user_abort(true), ' ', ignore_user_abort();
