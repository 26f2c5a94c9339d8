<?php

__halt_compiler();
never shown
