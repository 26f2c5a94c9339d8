<?php

declare(strict_types=1);

throw new LogicException('the boot went wrong');
