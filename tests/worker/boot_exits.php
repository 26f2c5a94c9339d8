<?php

declare(strict_types=1);

exit('the settings are missing');
